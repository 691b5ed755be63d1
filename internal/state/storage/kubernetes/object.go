package kubernetes

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"weir.dev/weir/internal/state/storage/rest"
)

// An object is one of the cluster, with all that others have put there.
type object map[string]any

// part is a map within an object, made where it isn't there.
func (o object) part(names ...string) map[string]any {
	at := map[string]any(o)
	for _, name := range names {
		next, ok := at[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[name] = next
		}
		at = next
	}
	return at
}

func (o object) name() string { return text(o.part("metadata")["name"]) }

func (o object) version() string { return text(o.part("metadata")["resourceVersion"]) }

func (o object) label(name string) string { return text(o.part("metadata", "labels")[name]) }

func text(v any) string { s, _ := v.(string); return s }

// state is what is in a secret, nil for nothing.
func (o object) state() ([]byte, error) {
	there, ok := o.part("data")["tfstate"].(string)
	if !ok {
		return nil, nil
	}
	packed, err := base64.StdEncoding.DecodeString(there)
	if err != nil {
		return nil, fmt.Errorf("the secret %s has no state in the form of one: %w", o.name(), err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("the state in the secret %s can't be uncompressed: %w", o.name(), err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("the state in the secret %s can't be uncompressed: %w", o.name(), err)
	}
	return content, nil
}

func (o object) setState(state []byte) error {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(state)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	o.part("metadata", "annotations")["encoding"] = "gzip"
	o.part("data")["tfstate"] = base64.StdEncoding.EncodeToString(b.Bytes())
	return nil
}

// holder is the id of the lock that a lease is, "" for none.
func (o object) holder() string { return text(o.part("spec")["holderIdentity"]) }

func (o object) info() string { return text(o.part("metadata", "annotations")[lockInfoLabel]) }

// hold makes a lease a lock with that id, "" for none.
func (o object) hold(id string, info []byte) {
	if id == "" {
		delete(o.part("spec"), "holderIdentity")
		delete(o.part("metadata", "annotations"), lockInfoLabel)
		return
	}
	o.part("spec")["holderIdentity"] = id
	o.part("metadata", "annotations")[lockInfoLabel] = string(info)
}

// get returns nil where there is no such object.
func get(ctx context.Context, client *rest.Client, kind, name string) (object, error) {
	var o object
	err := client.Into(ctx, rest.Request{Method: http.MethodGet, Path: kind + "/" + name}, &o)
	if rest.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	return o, err
}

// put replaces the version that an object has, or makes it where it has none, and
// returns it with the next one.
func put(ctx context.Context, client *rest.Client, kind string, o object) (object, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	r := rest.Request{Method: http.MethodPost, Path: kind, Body: body}
	if o.version() != "" {
		r.Method, r.Path = http.MethodPut, kind+"/"+o.name()
	}
	var made object
	err = client.Into(ctx, r, &made)
	return made, err
}

// conflict reports whether an object had another version, or was there.
func conflict(err error) bool { return rest.Status(err) == http.StatusConflict }

// remove removes an object that has a label of weir's or of its incumbents.
func remove(ctx context.Context, client *rest.Client, kind, name, label string) error {
	o, err := get(ctx, client, kind, name)
	if o == nil || err != nil {
		return err
	}
	if o.label(label) != "true" {
		return fmt.Errorf("%s/%s isn't deleted: it doesn't have the label %s=true", kind, name, label)
	}
	err = client.Into(ctx, rest.Request{Method: http.MethodDelete, Path: kind + "/" + name, Body: []byte(`{"propagationPolicy":"Background"}`)}, nil)
	if rest.Status(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// say is the message of a status, as clusters answer.
func say(body []byte) string {
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &status) != nil {
		return ""
	}
	return status.Message
}
