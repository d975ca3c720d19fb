"""What reading and reducing large traces costs, beside other tools."""
