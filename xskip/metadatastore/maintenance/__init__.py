"""Operations that commit without collecting statistics: migrate, optimize, rotate keys, drop."""
