"""The words everybody uses: Request, Answer, Tool, and how they go over a wire."""
