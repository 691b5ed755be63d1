# A network and three hosts that take their time, so that a run can be watched and killed.
# Everything is made by the built-in provider.

variable "zone" {
  type    = string
  default = "north"
}

resource "terraform_data" "network" {
  input = "net-${var.zone}"
}

resource "terraform_data" "host" {
  count = 3
  input = "host-${count.index}.${terraform_data.network.output}"

  provisioner "local-exec" {
    command = "sleep ${count.index * 2}"
  }
}

output "hosts" {
  value = terraform_data.host[*].output
}
