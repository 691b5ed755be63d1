# One configuration over six real providers: the old SDK and the new one, single
# and repeated resources, a module for each key, an aliased provider, values that
# are secret, and every way in which one object depends on another.
terraform {
  required_providers {
    random  = { source = "hashicorp/random", version = "~> 3.9" }
    time    = { source = "hashicorp/time", version = "~> 0.14" }
    tls     = { source = "hashicorp/tls", version = "~> 4.0" }
    archive = { source = "hashicorp/archive", version = "~> 1.3" }
    local   = { source = "hashicorp/local", version = "~> 1.4" }
    null    = { source = "hashicorp/null", version = "~> 2.1" }
  }
}

provider "random" {
  alias = "second"
}

variable "greeting" {
  type    = string
  default = "good morning"
}

variable "token" {
  type      = string
  default   = "not really a secret"
  sensitive = true
}

locals {
  shelves = { left = 2, right = 3 }
}

# random
resource "random_id" "suffix" {
  byte_length = 4
  keepers     = { greeting = var.greeting }
}

resource "random_password" "admin" {
  length      = 20
  min_special = 2
}

resource "random_pet" "nickname" {
  length    = 2
  separator = "_"
}

resource "random_integer" "port" {
  min = 20000
  max = 29999
}

resource "random_shuffle" "zones" {
  input        = ["north", "east", "south", "west"]
  result_count = 3
}

resource "random_uuid" "row" {
  count = 2
}

resource "random_string" "label" {
  provider = random.second
  for_each = local.shelves
  length   = 6 + each.value
  special  = false

  lifecycle {
    create_before_destroy = true
  }
}

# time
resource "time_static" "born" {
  rfc3339 = "2031-05-06T07:08:09Z"
}

resource "time_offset" "later" {
  base_rfc3339 = time_static.born.rfc3339
  offset_days  = 40
}

resource "time_sleep" "pause" {
  create_duration = "20ms"
  triggers        = { port = random_integer.port.result }
}

# tls
resource "tls_private_key" "ca" {
  algorithm   = "ECDSA"
  ecdsa_curve = "P256"
}

resource "tls_self_signed_cert" "ca" {
  private_key_pem       = tls_private_key.ca.private_key_pem
  is_ca_certificate     = true
  validity_period_hours = 876000
  allowed_uses          = ["cert_signing", "crl_signing"]

  subject {
    common_name  = "${random_pet.nickname.id}.invalid"
    organization = "Example"
  }
}

data "tls_public_key" "ca" {
  private_key_pem = tls_private_key.ca.private_key_pem
}

# archive and local
data "archive_file" "bundle" {
  type        = "zip"
  output_path = "${path.module}/out/bundle.zip"

  source {
    filename = "hello.txt"
    content  = var.greeting
  }

  source {
    filename = "count.txt"
    content  = length(local.shelves)
  }
}

resource "local_file" "note" {
  filename        = "${path.module}/out/note.txt"
  content         = "${var.greeting}, bundle ${data.archive_file.bundle.output_sha}\n"
  file_permission = "0644"
}

data "local_file" "note" {
  filename = local_file.note.filename
}

# null
resource "null_resource" "step" {
  count = 3
  triggers = {
    row   = random_uuid.row[count.index % 2].result
    token = var.token
  }
  depends_on = [time_sleep.pause]
}

data "null_data_source" "joined" {
  inputs = { zones = join(",", random_shuffle.zones.result) }
}

# built in
resource "terraform_data" "record" {
  input = {
    id     = random_id.suffix.hex
    labels = [for key, label in random_string.label : "${key}=${label.result}"]
    key    = sensitive(tls_private_key.ca.public_key_openssh)
  }
  triggers_replace = [null_resource.step[0].id]

  lifecycle {
    postcondition {
      condition     = length(self.output.labels) == 2
      error_message = "Each shelf needs a label."
    }
  }
}

module "web" {
  source   = "./web"
  for_each = local.shelves
  name     = each.key
  size     = each.value
  marker   = null_resource.step[each.value - 1].id

  providers = {
    random.main = random.second
  }
}

check "ports" {
  assert {
    condition     = random_integer.port.result > 1024
    error_message = "The port is one of the privileged ones."
  }
}

output "nickname" {
  value = random_pet.nickname.id
}

output "password" {
  value     = random_password.admin.result
  sensitive = true
}

output "sites" {
  value = { for key, site in module.web : key => site.summary }
}

output "nothing" {
  value = null
}

output "mixed" {
  value = [1, "two", true, { three = [data.null_data_source.joined.outputs.zones != ""] }]
}
