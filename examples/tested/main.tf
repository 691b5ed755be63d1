# Names and sizes for the machines of a service.

variable "name" {
  type        = string
  description = "Of the service; part of each machine's name."
  validation {
    condition     = can(regex("^[a-z][a-z0-9]{1,14}$", var.name))
    error_message = "The name takes 2 to 15 lower case letters and digits, and begins with a letter."
  }
}

variable "machines" {
  type    = number
  default = 2
  validation {
    condition     = var.machines >= 1 && var.machines <= 20 && floor(var.machines) == var.machines
    error_message = "There are 1 to 20 machines."
  }
}

variable "tier" {
  type    = string
  default = "test"
  validation {
    condition     = contains(["test", "live"], var.tier)
    error_message = "The tier is test or live."
  }
}

locals {
  live = var.tier == "live"
  size = local.live ? "large" : "small"
  # Live services keep a spare machine.
  count = local.live ? var.machines + 1 : var.machines
}

resource "terraform_data" "machine" {
  count = local.count
  input = {
    name   = format("%s-%s-%02d", var.tier, var.name, count.index)
    size   = local.size
    public = local.live && count.index == 0
  }
  lifecycle {
    postcondition {
      condition     = length(self.input.name) <= 24
      error_message = "The name ${self.input.name} is too long for DNS."
    }
  }
}

output "names" {
  value = terraform_data.machine[*].input.name
}

output "door" {
  description = "The machine that is reached from outside; null if there is none."
  value       = one([for m in terraform_data.machine : m.input.name if m.input.public])
}
