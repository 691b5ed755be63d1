import {
  to = postgresql_role.legacy
  id = "legacy"
}

resource "postgresql_role" "legacy" {
  name             = "legacy"
  connection_limit = 7
}

resource "postgresql_schema" "legacy" {
  name     = "legacy"
  database = "shop"
}
