# An estate over three regions. change.auto.tfvars, where there is one, changes it.
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "5.100.0"
    }
  }
}

variable "owner" {
  type    = string
  default = "platform"
}

variable "days" {
  description = "How long logs and old versions are kept."
  type        = number
  default     = 30
}

variable "hash_key" {
  description = "The key of the tables; another makes them anew."
  type        = string
  default     = "id"
}

variable "sites" {
  type    = set(string)
  default = ["docs", "shop", "assets", "mail"]
}

variable "services" {
  type = map(object({
    fifo   = optional(bool, false)
    memory = optional(number, 128)
  }))
  default = {
    orders   = { memory = 256 }
    payments = { fifo = true }
  }
}

provider "aws" {
  region = "us-east-1"
  default_tags {
    tags = { Estate = "weir", Owner = var.owner }
  }
}

provider "aws" {
  alias  = "west"
  region = "us-west-2"
  default_tags {
    tags = { Estate = "weir", Owner = var.owner, Region = "west" }
  }
}

provider "aws" {
  alias  = "central"
  region = "eu-central-1"
}

module "site" {
  source   = "./modules/site"
  for_each = var.sites

  name = "estate-${each.key}"
  days = var.days
  readers = {
    east    = module.service["orders"].role
    central = module.service_central["orders"].role
  }
}

module "site_west" {
  source    = "./modules/site"
  for_each  = var.sites
  providers = { aws = aws.west }

  name = "estate-west-${each.key}"
  days = var.days
}

module "site_central" {
  source    = "./modules/site"
  count     = 4
  providers = { aws = aws.central }

  name = "estate-central-${count.index}"
  days = var.days
  cors = count.index > 0
}

module "service" {
  source   = "./modules/service"
  for_each = var.services

  name     = each.key
  settings = each.value
  days     = var.days
  hash_key = var.hash_key
}

module "service_west" {
  source    = "./modules/service"
  for_each  = var.services
  providers = { aws = aws.west }

  name     = "${each.key}-west"
  settings = each.value
  days     = var.days
  hash_key = var.hash_key
}

module "service_central" {
  source    = "./modules/service"
  for_each  = var.services
  providers = { aws = aws.central }

  name     = "${each.key}-central"
  settings = each.value
  days     = var.days
  hash_key = var.hash_key
}

resource "aws_kms_key" "estate" {
  description             = "the estate's"
  deletion_window_in_days = 7
  enable_key_rotation     = true
}

resource "aws_kms_alias" "estate" {
  name          = "alias/estate"
  target_key_id = aws_kms_key.estate.key_id
}

resource "aws_secretsmanager_secret" "db" {
  name       = "estate/db"
  kms_key_id = aws_kms_key.estate.arn
}

resource "aws_secretsmanager_secret_version" "db" {
  secret_id     = aws_secretsmanager_secret.db.id
  secret_string = jsonencode({ user = "estate", password = "for-a-test-only" })
}

resource "aws_iam_group" "operators" {
  name = "operators"
  path = "/estate/"
}

resource "aws_iam_user" "operator" {
  for_each = toset(["ann", "ben", "cas"])
  name     = each.key
  path     = "/estate/"
}

resource "aws_iam_user_group_membership" "operator" {
  for_each = aws_iam_user.operator
  user     = each.value.name
  groups   = [aws_iam_group.operators.name]
}

resource "aws_iam_group_policy_attachment" "operators" {
  group      = aws_iam_group.operators.name
  policy_arn = "arn:aws:iam::aws:policy/ReadOnlyAccess"
}

data "aws_caller_identity" "me" {}

output "sites" {
  value = merge(
    { for k, s in module.site : k => s.arn },
    { for k, s in module.site_west : "west-${k}" => s.arn },
  )
}

output "queues" {
  value = { for k, s in module.service : k => s.queue }
}

output "account" {
  value = data.aws_caller_identity.me.account_id
}

output "password" {
  value     = jsondecode(aws_secretsmanager_secret_version.db.secret_string).password
  sensitive = true
}
