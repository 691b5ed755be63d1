terraform {
  required_providers {
    vault = { source = "hashicorp/vault" }
  }
}
provider "vault" {
  address                = "http://127.0.0.1:1"
  token                  = "token"
  skip_child_token       = true
  skip_get_vault_version = true
}
resource "vault_mount" "kv" {
  path    = "kv"
  type    = "kv"
  options = { version = "2" }
}
resource "vault_policy" "read" {
  name   = "read"
  policy = "path \"kv/*\" { capabilities = [\"read\"] }"
}
resource "vault_kv_secret_v2" "app" {
  mount     = vault_mount.kv.path
  name      = "app"
  data_json = jsonencode({ password = "secret" })
}
