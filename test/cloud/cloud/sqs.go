package cloud

import (
	"maps"
)

// SQS keeps queues, by their URLs.
type sqs struct{ queues map[string]*queue }

type queue struct{ attributes, tags map[string]string }

func newSQS() *sqs { return &sqs{queues: map[string]*queue{}} }

func (s *sqs) service() service {
	on := func(do func(r *request, q *queue) any) call {
		return func(r *request) (any, error) {
			q := s.queues[r.text("QueueUrl")]
			if q == nil {
				return nil, refused("AWS.SimpleQueueService.NonExistentQueue", "%s isn't there", r.text("QueueUrl"))
			}
			return do(r, q), nil
		}
	}
	return service{dialect: jsonText, calls: map[string]call{
		"CreateQueue": s.create,
		"GetQueueUrl": func(r *request) (any, error) {
			url := queueURL(r)
			if s.queues[url] == nil {
				return nil, refused("AWS.SimpleQueueService.NonExistentQueue", "%s isn't there", url)
			}
			return object{"QueueUrl": url}, nil
		},
		"ListQueues": func(r *request) (any, error) { return object{"QueueUrls": sorted(s.queues)}, nil },
		"DeleteQueue": on(func(r *request, q *queue) any {
			delete(s.queues, r.text("QueueUrl"))
			return nil
		}),
		"GetQueueAttributes": on(func(r *request, q *queue) any { return object{"Attributes": q.attributes} }),
		"SetQueueAttributes": on(func(r *request, q *queue) any {
			q.set(r.input.strings("Attributes"))
			return nil
		}),
		"ListQueueTags": on(func(r *request, q *queue) any { return object{"Tags": q.tags} }),
		"TagQueue": on(func(r *request, q *queue) any {
			maps.Copy(q.tags, r.input.strings("Tags"))
			return nil
		}),
		"UntagQueue": on(func(r *request, q *queue) any {
			untag(q.tags, r.input.list("TagKeys"))
			return nil
		}),
	}}
}

func queueURL(r *request) string {
	return "https://sqs." + r.region + ".amazonaws.com/" + Account + "/" + r.text("QueueName")
}

func (s *sqs) create(r *request) (any, error) {
	url := queueURL(r)
	if s.queues[url] != nil {
		return nil, refused("QueueAlreadyExists", "%s exists already", url)
	}
	q := &queue{
		attributes: map[string]string{
			"QueueArn":          arn("sqs", r.region, r.text("QueueName")),
			"VisibilityTimeout": "30", "MaximumMessageSize": "262144", "MessageRetentionPeriod": "345600",
			"DelaySeconds": "0", "ReceiveMessageWaitTimeSeconds": "0", "SqsManagedSseEnabled": "true",
			"CreatedTimestamp": "1704067200", "LastModifiedTimestamp": "1704067200",
		},
		tags: r.input.strings("tags"),
	}
	if r.input.object("Attributes").text("FifoQueue") == "true" {
		maps.Copy(q.attributes, map[string]string{"ContentBasedDeduplication": "false", "DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"})
	}
	q.set(r.input.strings("Attributes"))
	s.queues[url] = q
	return object{"QueueUrl": url}, nil
}

// set sets attributes; an empty one is taken away.
func (q *queue) set(attributes map[string]string) {
	for k, v := range attributes {
		if v == "" {
			delete(q.attributes, k)
			continue
		}
		q.attributes[k] = v
	}
	if q.attributes["KmsMasterKeyId"] != "" {
		q.attributes["SqsManagedSseEnabled"] = "false"
	}
}
