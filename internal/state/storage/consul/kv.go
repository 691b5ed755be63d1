package consul

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"weir.dev/weir/internal/state/storage/rest"
)

// A kv is the keys and sessions of Consul, as its HTTP API has them.
type kv struct {
	client rest.Client
	where  url.Values // of every request
}

// A pair is a key with what is there.
type pair struct {
	Key         string
	Value       []byte
	ModifyIndex uint64
	Session     string // that holds it, "" for none
}

// none is the index of a key that isn't there.
var none uint64

func (k *kv) do(ctx context.Context, method, path string, query url.Values, body []byte, into any) error {
	all := maps.Clone(k.where)
	maps.Copy(all, query)
	return k.client.Into(ctx, rest.Request{Method: method, Path: "/v1/" + path, Query: all, Body: body}, into)
}

func at(key string) string { return "kv/" + strings.TrimLeft(key, "/") }

// get returns nil where there is no such key.
func (k *kv) get(ctx context.Context, key string) (*pair, error) {
	var pairs []pair
	err := k.do(ctx, http.MethodGet, at(key), url.Values{"consistent": {""}}, nil, &pairs)
	if rest.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	if err != nil || len(pairs) == 0 {
		return nil, err
	}
	return &pairs[0], nil
}

// keys names those that begin with a prefix, without what is after a further "/".
func (k *kv) keys(ctx context.Context, prefix string) (names []string, err error) {
	err = k.do(ctx, http.MethodGet, at(prefix), url.Values{"keys": {""}, "separator": {"/"}}, nil, &names)
	if rest.Status(err) == http.StatusNotFound {
		return nil, nil
	}
	return names, err
}

// put replaces the value at an index, nil for any, and returns the new index. The error
// has the status 409 where the index was another one, 413 where the value is too large.
func (k *kv) put(ctx context.Context, key string, value []byte, replaces *uint64) (index uint64, err error) {
	operation := map[string]any{"Verb": "set", "Key": strings.TrimLeft(key, "/"), "Value": value}
	if replaces != nil {
		operation["Verb"], operation["Index"] = "cas", *replaces
	}
	body, err := json.Marshal([]any{map[string]any{"KV": operation}})
	if err != nil {
		return 0, err
	}
	var told struct{ Results []struct{ KV pair } }
	if err := k.do(ctx, http.MethodPut, "txn", nil, body, &told); err != nil {
		return 0, err
	}
	if len(told.Results) != 1 {
		return 0, errors.New("the answer to a transaction doesn't say what was written")
	}
	return told.Results[0].KV.ModifyIndex, nil
}

// tooLarge reports whether a value has to be kept in pieces.
func tooLarge(err error) bool {
	return err != nil && (rest.Status(err) == http.StatusRequestEntityTooLarge || strings.Contains(err.Error(), "too large"))
}

// set writes a value whatever is there.
func (k *kv) set(ctx context.Context, key string, value []byte) error {
	return k.do(ctx, http.MethodPut, at(key), nil, value, nil)
}

// remove removes a key at an index, nil for any.
func (k *kv) remove(ctx context.Context, key string, index *uint64) error {
	query := url.Values{}
	if index != nil {
		query.Set("cas", strconv.FormatUint(*index, 10))
	}
	return k.do(ctx, http.MethodDelete, at(key), query, nil, nil)
}

// removeAll removes what begins with a prefix.
func (k *kv) removeAll(ctx context.Context, prefix string) error {
	return k.do(ctx, http.MethodDelete, at(prefix), url.Values{"recurse": {""}}, nil, nil)
}

// lockFlags mark keys as locks for Consul's own library, which incumbents use.
const lockFlags = "3304740253564472344"

// acquire has a session hold a key.
func (k *kv) acquire(ctx context.Context, key, session string) (got bool, err error) {
	err = k.do(ctx, http.MethodPut, at(key), url.Values{"acquire": {session}, "flags": {lockFlags}}, []byte{}, &got)
	return got, err
}

func (k *kv) release(ctx context.Context, key, session string) error {
	return k.do(ctx, http.MethodPut, at(key), url.Values{"release": {session}, "flags": {lockFlags}}, []byte{}, nil)
}

// begin starts a session that ends when it isn't renewed. Others may take its locks at once after that: what is written later is held to the index that was read.
func (k *kv) begin(ctx context.Context) (id string, err error) {
	var told struct{ ID string }
	err = k.do(ctx, http.MethodPut, "session/create", nil, []byte(`{"Name":"Consul API Lock","TTL":"`+lifetime.String()+`","LockDelay":"0s"}`), &told)
	return told.ID, err
}

func (k *kv) renew(ctx context.Context, session string) error {
	return k.do(ctx, http.MethodPut, "session/renew/"+session, nil, nil, nil)
}

func (k *kv) end(ctx context.Context, session string) error {
	return k.do(ctx, http.MethodPut, "session/destroy/"+session, nil, nil, nil)
}
