"""What a run can call: tools from functions, the toolkit, modules, arguments."""
