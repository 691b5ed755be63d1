terraform {
  required_providers {
    azapi = { source = "azure/azapi" }
  }
}
provider "azapi" {
  subscription_id = "00000000-0000-0000-0000-000000000000"
  tenant_id       = "00000000-0000-0000-0000-000000000000"
  client_id       = "00000000-0000-0000-0000-000000000000"
  client_secret   = "secret"
}
resource "azapi_resource" "group" {
  type      = "Microsoft.Resources/resourceGroups@2021-04-01"
  name      = "example"
  parent_id = "/subscriptions/00000000-0000-0000-0000-000000000000"
  location  = "westeurope"
}
