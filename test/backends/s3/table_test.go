package s3

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/zclconf/go-cty/cty"

	"weir.dev/aws/cloud"
	"weir.dev/weir/internal/state/storage"
)

// tables starts a DynamoDB with a table named locks, or makes that table again in the one
// whose address is in DYNAMODB.
func tables(t *testing.T) (address string) {
	t.Helper()
	if address := os.Getenv("DYNAMODB"); address != "" {
		_, _ = client(address).DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String("locks")})
		makeTable(t, address)
		return address
	}
	server := httptest.NewServer(cloud.New(io.Discard))
	t.Cleanup(server.Close)
	makeTable(t, server.URL)
	return server.URL
}

func client(address string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{BaseEndpoint: &address, Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("key", "secret", "")})
}

func makeTable(t *testing.T, address string) {
	t.Helper()
	_, err := client(address).CreateTable(context.Background(), &dynamodb.CreateTableInput{
		TableName:            aws.String("locks"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("LockID"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("LockID"), KeyType: types.KeyTypeHash}},
	})
	do(t, err)
}

// item reads an item of the table.
func item(t *testing.T, address, id string) map[string]string {
	t.Helper()
	out, err := client(address).GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: aws.String("locks"), Key: map[string]types.AttributeValue{"LockID": &types.AttributeValueMemberS{Value: id}},
	})
	do(t, err)
	texts := map[string]string{}
	for name, v := range out.Item {
		texts[name] = v.(*types.AttributeValueMemberS).Value
	}
	return texts
}

// TestItems looks at what others read: the lock with its holder, and the digest.
func TestItems(t *testing.T) {
	bucket, objects := gateway(t)
	table := tables(t)
	values := settings(bucket, map[string]cty.Value{
		"dynamodb_table": cty.StringVal("locks"), "use_lockfile": cty.True,
		"endpoints": endpoints(map[string]string{"s3": bucket, "dynamodb": table}),
	})
	s := state(t, open(t, values), "dev")
	id := lock(t, s, "OperationTypeApply")
	do(t, s.Write(t.Context(), []byte(`{"version":4}`)))
	const at = "states/env:/dev/team/app.tfstate"
	object, err := objects.GetObject("states", "env:/dev/team/app.tfstate.tflock", nil)
	do(t, err)
	text, _ := io.ReadAll(object.Contents)
	for what, got := range map[string]string{"item": item(t, table, at)["Info"], "object": string(text)} {
		info, err := storage.ParseLockInfo([]byte(got))
		if err != nil || info.ID != id || info.Operation != "OperationTypeApply" || info.Path != at {
			t.Errorf("%s: %s %v", what, got, err)
		}
	}
	if got, want := item(t, table, at+"-md5")["Digest"], fmt.Sprintf("%x", md5.Sum([]byte(`{"version":4}`))); got != want {
		t.Errorf("digest %q, want %q", got, want)
	}
	do(t, s.Unlock(t.Context(), id))
	if left := item(t, table, at); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	do(t, open(t, values).DeleteWorkspace(t.Context(), "dev"))
	if left := item(t, table, at+"-md5"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestHalfLocked has the table's lock held by somebody who has no lock object.
func TestHalfLocked(t *testing.T) {
	bucket, objects := gateway(t)
	at := map[string]cty.Value{
		"dynamodb_table": cty.StringVal("locks"),
		"endpoints":      endpoints(map[string]string{"s3": bucket, "dynamodb": tables(t)}),
	}
	other := state(t, open(t, settings(bucket, at)), storage.DefaultWorkspace)
	id := lock(t, other, "other")
	at["use_lockfile"] = cty.True
	s := state(t, open(t, settings(bucket, at)), storage.DefaultWorkspace)
	_, err := s.Lock(t.Context(), storage.NewLockInfo("mine", "me", "1"))
	var held *storage.LockError
	if !errors.As(err, &held) || held.Holder == nil || held.Holder.ID != id {
		t.Errorf("got %v", err)
	}
	if _, err := objects.HeadObject("states", "team/app.tfstate.tflock"); err == nil {
		t.Error("the lock object was left")
	}
	do(t, other.Unlock(t.Context(), id))
	id = lock(t, s, "mine")
	do(t, other.Unlock(t.Context(), id)) // by the table alone
	if err := s.Unlock(t.Context(), id); err == nil || !strings.Contains(err.Error(), "s3 lock released but dynamoDB failed") {
		t.Errorf("got %v", err)
	}
	do(t, s.Unlock(t.Context(), lock(t, s, "again")))
}

// TestDigest has the table with the digest of another state.
func TestDigest(t *testing.T) {
	bucket, _ := gateway(t)
	table := tables(t)
	values := settings(bucket, map[string]cty.Value{
		"dynamodb_table": cty.StringVal("locks"),
		"endpoints":      endpoints(map[string]string{"s3": bucket, "dynamodb": table}),
	})
	s := state(t, open(t, values), storage.DefaultWorkspace)
	do(t, s.Write(t.Context(), []byte("{}")))
	put := func(digest string) {
		_, err := client(table).PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("locks"), Item: map[string]types.AttributeValue{
			"LockID": &types.AttributeValueMemberS{Value: "states/team/app.tfstate-md5"}, "Digest": &types.AttributeValueMemberS{Value: digest},
		}})
		do(t, err)
	}
	right := item(t, table, "states/team/app.tfstate-md5")["Digest"]
	put(strings.Repeat("0", 32))
	impatient := open(t, values)
	impatient.Patience = 0
	_, err := state(t, impatient, storage.DefaultWorkspace).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not have the expected content") || !strings.HasSuffix(err.Error(), right) {
		t.Errorf("got %v, want one that ends with %s", err, right)
	}
	// A run that was killed after the upload had announced it.
	_, err = client(table).PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("locks"), Item: map[string]types.AttributeValue{
		"LockID": &types.AttributeValueMemberS{Value: "states/team/app.tfstate-md5"}, "Digest": &types.AttributeValueMemberS{Value: strings.Repeat("0", 32)},
		"NextDigest": &types.AttributeValueMemberS{Value: right},
	}})
	do(t, err)
	content, err := state(t, impatient, storage.DefaultWorkspace).Read(t.Context())
	if err != nil || string(content) != "{}" {
		t.Errorf("read %q: %v", content, err)
	}
	if healed := item(t, table, "states/team/app.tfstate-md5"); healed["Digest"] != right || healed["NextDigest"] != "" {
		t.Errorf("left %v", healed)
	}
	put(strings.Repeat("0", 32))
	// Anything that is right a moment later is taken.
	patient := open(t, values)
	patient.Patience, patient.Pause = time.Minute, time.Millisecond
	done := make(chan error)
	go func() {
		content, err := state(t, patient, storage.DefaultWorkspace).Read(context.Background())
		if string(content) != "{}" {
			err = errors.Join(err, fmt.Errorf("read %q", content))
		}
		done <- err
	}()
	put(right)
	do(t, <-done)
}
