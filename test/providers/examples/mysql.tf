terraform {
  required_providers {
    mysql = { source = "petoju/mysql" }
  }
}
provider "mysql" {
  endpoint = "127.0.0.1:1"
  username = "root"
}
resource "mysql_database" "app" { name = "app" }
resource "mysql_user" "app" {
  user               = "app"
  host               = "%"
  plaintext_password = "secret"
}
resource "mysql_grant" "app" {
  user       = mysql_user.app.user
  host       = mysql_user.app.host
  database   = mysql_database.app.name
  privileges = ["SELECT", "UPDATE"]
}
