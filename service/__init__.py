"""The MCP service that runs on the machine wired to the CAN hardware."""
