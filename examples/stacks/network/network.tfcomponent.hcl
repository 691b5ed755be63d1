# A stack of components: what a module is called with, for each of its deployments.
variable "range" {
  type        = string
  description = "The addresses of the network."
}

variable "zones" {
  type = set(string)
}

component "subnet" {
  source   = "./subnets"
  for_each = var.zones
  inputs   = { range = var.range, zone = each.value }
}

output "subnets" {
  type  = map(string)
  value = { for zone, subnet in component.subnet : zone => subnet.name }
}
