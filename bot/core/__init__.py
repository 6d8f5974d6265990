"""Pure decisions: what a run is, who may answer, what is compared, what is seen."""
