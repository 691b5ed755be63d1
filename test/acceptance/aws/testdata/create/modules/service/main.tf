# What a service needs: queues, a topic, a table, a role and its policies.
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}

variable "name" { type = string }
variable "days" { type = number }
variable "hash_key" { type = string }
variable "settings" {
  type = object({
    fifo   = bool
    memory = number
  })
}

locals {
  suffix = var.settings.fifo ? ".fifo" : ""
}

data "aws_region" "here" {}

resource "aws_sqs_queue" "dead" {
  name       = "${var.name}-dead${local.suffix}"
  fifo_queue = var.settings.fifo
}

resource "aws_sqs_queue" "work" {
  name                       = "${var.name}${local.suffix}"
  fifo_queue                 = var.settings.fifo
  visibility_timeout_seconds = var.settings.memory
  message_retention_seconds  = var.days * 3600
  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead.arn
    maxReceiveCount     = 4
  })
}

resource "aws_sns_topic" "events" {
  name         = "${var.name}-events${local.suffix}"
  display_name = "events of ${var.name}"
  fifo_topic   = var.settings.fifo
}

resource "aws_sns_topic_subscription" "work" {
  topic_arn            = aws_sns_topic.events.arn
  protocol             = "sqs"
  endpoint             = aws_sqs_queue.work.arn
  raw_message_delivery = true
}

data "aws_iam_policy_document" "queue" {
  statement {
    actions   = ["sqs:SendMessage"]
    resources = [aws_sqs_queue.work.arn]
    principals {
      type        = "Service"
      identifiers = ["sns.amazonaws.com"]
    }
    condition {
      test     = "ArnEquals"
      variable = "aws:SourceArn"
      values   = [aws_sns_topic.events.arn]
    }
  }
}

resource "aws_sqs_queue_policy" "work" {
  queue_url = aws_sqs_queue.work.id
  policy    = data.aws_iam_policy_document.queue.json
}

resource "aws_dynamodb_table" "items" {
  name         = "${var.name}-items"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = var.hash_key
  range_key    = "at"

  attribute {
    name = var.hash_key
    type = "S"
  }
  attribute {
    name = "at"
    type = "N"
  }
  attribute {
    name = "state"
    type = "S"
  }
  global_secondary_index {
    name            = "by-state"
    hash_key        = "state"
    projection_type = "KEYS_ONLY"
  }
  ttl {
    attribute_name = "expires"
    enabled        = true
  }
  point_in_time_recovery {
    enabled = !var.settings.fifo
  }
}

data "aws_iam_policy_document" "assume" {
  statement {
    actions = ["sts:AssumeRole"]
    principals {
      type        = "Service"
      identifiers = ["ec2.amazonaws.com", "lambda.amazonaws.com"]
    }
  }
}

resource "aws_iam_role" "this" {
  name               = "${var.name}-${data.aws_region.here.name}"
  path               = "/estate/"
  description        = "what ${var.name} runs as"
  assume_role_policy = data.aws_iam_policy_document.assume.json
}

resource "aws_iam_role_policy" "queue" {
  name = "queue"
  role = aws_iam_role.this.id
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = ["sqs:*"], Resource = [aws_sqs_queue.work.arn, aws_sqs_queue.dead.arn] }]
  })
}

resource "aws_iam_policy" "table" {
  name = "${var.name}-table-${data.aws_region.here.name}"
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "dynamodb:*", Resource = "${aws_dynamodb_table.items.arn}*" }]
  })
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each = {
    table = aws_iam_policy.table.arn
    logs  = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
  }
  role       = aws_iam_role.this.name
  policy_arn = each.value
}

resource "aws_iam_instance_profile" "this" {
  name = aws_iam_role.this.name
  role = aws_iam_role.this.name
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/estate/${var.name}"
  retention_in_days = var.days
}

resource "aws_ssm_parameter" "memory" {
  name  = "/estate/${var.name}/memory"
  type  = "String"
  value = var.settings.memory
}

output "queue" { value = aws_sqs_queue.work.url }
output "role" { value = aws_iam_role.this.arn }
