"""`workbench bench`: what the engine and a whole experiment cost on this machine, measured through the doors users use."""
