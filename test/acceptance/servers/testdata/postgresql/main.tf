terraform {
  required_providers {
    postgresql = {
      source  = "cyrilgdn/postgresql"
      version = "1.26.0"
    }
  }
}

variable "readers" {
  type    = map(number)
  default = { ann = 3, ben = 5 }
}

variable "schemas" {
  type    = set(string)
  default = ["sales", "stock"]
}

variable "create" {
  description = "Whether readers may create things in the schemas."
  type        = bool
  default     = false
}

resource "postgresql_role" "owner" {
  name            = "owner"
  create_database = true
}

resource "postgresql_role" "group" {
  for_each = toset(["readers", "writers"])
  name     = each.key
}

resource "postgresql_role" "reader" {
  for_each         = var.readers
  name             = each.key
  login            = true
  connection_limit = each.value
  password         = "only-for-${each.key}"
  roles            = [postgresql_role.group["readers"].name]
  search_path      = ["sales", "public"]
}

resource "postgresql_database" "shop" {
  name             = "shop"
  owner            = postgresql_role.owner.name
  connection_limit = 20
}

resource "postgresql_schema" "of" {
  for_each = var.schemas
  name     = each.key
  database = postgresql_database.shop.name
  owner    = postgresql_role.owner.name

  policy {
    usage = true
    role  = postgresql_role.group["readers"].name
  }
  dynamic "policy" {
    for_each = var.create ? [1] : []
    content {
      create = true
      usage  = true
      role   = postgresql_role.group["writers"].name
    }
  }
}

# Without a policy: the provider says unknown blocks, which have to stay so.
resource "postgresql_schema" "plain" {
  name     = "plain"
  database = postgresql_database.shop.name
}

resource "postgresql_grant" "tables" {
  for_each    = postgresql_schema.of
  database    = postgresql_database.shop.name
  schema      = each.value.name
  role        = postgresql_role.group["readers"].name
  object_type = "table"
  privileges  = ["SELECT"]
}

resource "postgresql_default_privileges" "tables" {
  for_each    = postgresql_schema.of
  database    = postgresql_database.shop.name
  schema      = each.value.name
  owner       = postgresql_role.owner.name
  role        = postgresql_role.group["writers"].name
  object_type = "table"
  privileges  = ["SELECT", "INSERT", "UPDATE"]
}

resource "postgresql_function" "double" {
  name     = "double"
  database = postgresql_database.shop.name
  schema   = postgresql_schema.plain.name
  returns  = "integer"
  language = "plpgsql"
  arg {
    name = "i"
    type = "integer"
  }
  body = <<-EOT
    BEGIN
      RETURN i * 2;
    END;
  EOT
}

output "schemas" {
  value = { for k, s in postgresql_schema.of : k => s.id }
}
