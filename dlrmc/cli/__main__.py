"""`python -m dlrmc.cli` is `dlrmc`."""

from dlrmc.cli.application import main

main()
