# What was made by others before.
import {
  to = aws_s3_bucket.legacy
  id = "legacy"
}

import {
  for_each = toset(["in", "out"])
  to       = aws_sqs_queue.legacy[each.key]
  id       = "https://sqs.us-west-2.amazonaws.com/123456789012/legacy-${each.key}"
}

resource "aws_s3_bucket" "legacy" {
  bucket = "legacy"
  tags   = { Name = "legacy" }
}

resource "aws_sqs_queue" "legacy" {
  for_each      = toset(["in", "out"])
  provider      = aws.west
  name          = "legacy-${each.key}"
  delay_seconds = each.key == "in" ? 5 : 0
}

resource "aws_iam_role" "legacy" {
  name        = "legacy"
  description = "by command"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
