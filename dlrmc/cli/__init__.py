"""The command line, one file a command: `dlrmc COMMAND ...`."""
