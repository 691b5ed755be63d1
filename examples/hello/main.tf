# Three offices, each with a few rooms. Everything here is made by the built-in
# provider, so that nothing has to be downloaded and no account is needed.

variable "offices" {
  description = "Rooms by office."
  type        = map(list(string))
  default = {
    harbour  = ["Gull", "Tern"]
    hill     = ["Kestrel"]
    railyard = ["Signal", "Siding", "Turntable"]
  }
}

variable "greeting" {
  type    = string
  default = "Welcome to"
}

# One module instance for each office.
module "site" {
  source   = "./site"
  for_each = var.offices

  name     = each.key
  rooms    = each.value
  greeting = var.greeting
}

# Made after all offices, and anew whenever one of their signs is.
resource "terraform_data" "directory" {
  input = { for name, site in module.site : name => site.signs }

  triggers_replace = [for site in module.site : site.id]
}

check "enough_rooms" {
  assert {
    condition     = sum([for rooms in var.offices : length(rooms)]) >= 5
    error_message = "There are fewer than five rooms for everybody."
  }
}

output "directory" {
  description = "What the signs say, by office."
  value       = terraform_data.directory.output
}

output "rooms" {
  value = sum([for site in module.site : length(site.signs)])
}
