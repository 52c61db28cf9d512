"""What operations and jobs work with: the opened home, its stores, the gate that redacts."""
