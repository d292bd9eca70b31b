"""One file per architecture; the file's name is what `--model` and checkpoints call it."""
