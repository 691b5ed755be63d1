variable "subnets" {
  type = map(string)
}

variable "size" {
  type = number
}

variable "password" {
  type      = string
  ephemeral = true
  sensitive = true
}

component "machines" {
  source   = "./machines"
  for_each = var.subnets
  inputs   = { subnet = each.value, size = var.size, password = var.password }
}

output "machines" {
  type  = map(number)
  value = { for zone, m in component.machines : zone => m.size }
}
