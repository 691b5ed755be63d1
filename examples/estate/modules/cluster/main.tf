variable "network" {
  type = object({ id = string, subnets = list(string) })
}

resource "terraform_data" "node" {
  for_each = toset(var.network.subnets)
  input    = { network = var.network.id, subnet = each.key }
}

resource "terraform_data" "token" {
  input = "token of ${var.network.id}"
}

output "endpoint" {
  value = "https://${terraform_data.token.id}.example"
}

output "token" {
  value     = terraform_data.token.output
  sensitive = true
}
