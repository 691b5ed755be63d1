package s3

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"weir.dev/weir/internal/net/httpcall"
)

// A table is DynamoDB's, whose items are texts with the key LockID.
type table struct {
	service
	table string
}

func openTable(ctx context.Context, config aws.Config, name, address string) (*table, error) {
	to, err := at(ctx, config, "DynamoDB", "DynamoDB", address, func(fips, dual bool) string {
		kind := "dynamodb"
		if fips {
			kind += "-fips"
		}
		suffix, six := domain(config.Region)
		if dual {
			suffix = six
		}
		return "https://" + kind + "." + config.Region + "." + suffix
	})
	if err != nil {
		return nil, err
	}
	to.Path = strings.TrimSuffix(to.Path, "/") + "/"
	return &table{service{config: config, name: "dynamodb", address: to, decode: decodeJSON}, name}, nil
}

func decodeJSON(answer httpcall.Answer) *failure {
	var told struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Capital string `json:"Message"`
	}
	_ = json.Unmarshal(answer.Body, &told) // those of proxies aren't JSON
	f := &failure{status: answer.Status, message: told.Message + told.Capital, request: answer.Header.Get("X-Amzn-Requestid")}
	f.code = told.Type[strings.LastIndex(told.Type, "#")+1:]
	if f.code == "" {
		f.code, f.message = strings.ReplaceAll(http.StatusText(answer.Status), " ", ""), fmt.Sprintf("%d %s", answer.Status, http.StatusText(answer.Status))
	}
	return f
}

// conditionFailed is the code of what a condition kept from happening.
const conditionFailed = "ConditionalCheckFailedException"

// texts are an item as the service has it.
type texts map[string]struct {
	S string
}

func item(pairs ...string) texts {
	t := texts{}
	for i := 0; i < len(pairs); i += 2 {
		t[pairs[i]] = struct{ S string }{pairs[i+1]} // #nosec G602 -- pairs
	}
	return t
}

type call struct {
	TableName                 string
	Key                       texts  `json:",omitempty"`
	Item                      texts  `json:",omitempty"`
	ConditionExpression       string `json:",omitempty"`
	ExpressionAttributeValues texts  `json:",omitempty"`
	ProjectionExpression      string `json:",omitempty"`
	ConsistentRead            bool   `json:",omitempty"`
}

func (t *table) call(ctx context.Context, name string, c call) ([]byte, error) {
	c.TableName = t.table
	body, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"DynamoDB_20120810." + name}}
	a, err := t.do(ctx, http.MethodPost, t.address, header, body)
	if err != nil {
		return nil, fmt.Errorf("operation error DynamoDB: %s, %w", name, err)
	}
	return a.Body, nil
}

// get reads texts of an item, nil without one.
func (t *table) get(ctx context.Context, id string, names ...string) (texts, error) {
	content, err := t.call(ctx, "GetItem", call{Key: item("LockID", id), ProjectionExpression: "LockID, " + strings.Join(names, ", "), ConsistentRead: true})
	if err != nil {
		return nil, err
	}
	var read struct{ Item texts }
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, fmt.Errorf("the item can't be read: %w", err)
	}
	return read.Item, nil
}

// put puts an item, where condition holds for the one that is there; "" holds for
// all.
func (t *table) put(ctx context.Context, it texts, condition string, values texts) error {
	_, err := t.call(ctx, "PutItem", call{Item: it, ConditionExpression: condition, ExpressionAttributeValues: values})
	return err
}

// remove removes an item, with info only as long as it has that.
func (t *table) remove(ctx context.Context, id, info string) error {
	c := call{Key: item("LockID", id)}
	if info != "" {
		c.ConditionExpression, c.ExpressionAttributeValues = "Info = :info", item(":info", info)
	}
	_, err := t.call(ctx, "DeleteItem", c)
	return err
}
