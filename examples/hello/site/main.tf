# An office: a sign for each room.

variable "name" {
  type = string

  validation {
    condition     = length(var.name) > 0
    error_message = "An office needs a name."
  }
}

variable "rooms" {
  type = list(string)
}

variable "greeting" {
  type = string
}

resource "terraform_data" "office" {
  input = title(var.name)
}

resource "terraform_data" "sign" {
  for_each = toset(var.rooms)

  input = "${var.greeting} ${each.key}, ${terraform_data.office.output}"
}

output "id" {
  value = terraform_data.office.id
}

output "signs" {
  value = [for sign in terraform_data.sign : sign.output]
}
