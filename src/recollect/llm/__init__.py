"""The way to a language model, and the prompts. What it may cost, and what may be sent: `app/language_model.py`."""
