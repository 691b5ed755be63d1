terraform {
  required_providers {
    random = { source = "hashicorp/random" }
  }
}
resource "random_pet" "name" { length = 3 }
resource "random_integer" "port" {
  min = 1024
  max = 65535
}
resource "random_password" "secret" {
  length  = 20
  special = true
}
resource "random_shuffle" "zones" { input = ["a", "b", "c"] }
output "name" { value = random_pet.name.id }
