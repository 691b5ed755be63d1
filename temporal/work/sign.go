package work

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"time"

	"weir.dev/weir/temporal/depot"
	"weir.dev/weir/temporal/rounds"
)

// A client of the Temporal server could send any request and any decision there. So the store
// signs requests and decisions, and workers check the signatures: of the request before every
// step, and of the approval before an apply. A workflow only passes them on, so its claims
// prove nothing.

// unsigned is why something isn't done. To try again makes no difference.
type unsigned string

func (u unsigned) Error() string { return string(u) }

// The texts that are signed. Their first word keeps one kind from passing for another.
func requestText(r rounds.Request) (string, error) {
	kind := "request"
	if r.States != "" {
		kind = "request for a root with states at " + r.States
	}
	return text(kind, r.ID, r.Stack, r.Deployment, r.Bundle, r.Options, r.By, r.At.UTC())
}

func wholeText(w rounds.Whole) (string, error) {
	return text("stack", w.ID, w.Stack, w.Bundle, w.Deployments, w.Options, w.Publishes, w.By, w.At.UTC())
}

func decisionText(r rounds.Request, d rounds.Decision) (string, error) {
	return text("decision", r.ID, r.Stack, r.Deployment, d.Kind, d.Plan, d.Settlement, d.By, d.At.UTC())
}

func text(parts ...any) (string, error) {
	data, err := json.Marshal(parts)
	return string(data), err
}

// Sign has the store sign what somebody asks for.
func Sign(ctx context.Context, d depot.Depot, w *rounds.Whole) error {
	w.At, w.Signatures = time.Now().UTC(), nil
	first, err := wholeText(*w)
	if err != nil {
		return err
	}
	texts := []string{first}
	for _, r := range w.Each() {
		t, err := requestText(r)
		if err != nil {
			return err
		}
		texts = append(texts, t)
	}
	list, err := d.Sign(ctx, texts)
	if err == nil {
		w.Signature, w.Signatures = list[0], list[1:]
	}
	return err
}

// SignDecision has the store sign a decision about a request.
func SignDecision(ctx context.Context, d depot.Depot, r rounds.Request, said *rounds.Decision) error {
	said.At = time.Now().UTC()
	t, err := decisionText(r, *said)
	if err != nil {
		return err
	}
	list, err := d.Sign(ctx, []string{t})
	if err == nil {
		said.Signature = list[0]
	}
	return err
}

// check fails unless the store signed a text.
func (w *Worker) check(ctx context.Context, text string, err error, signature, what string) error {
	if err != nil {
		return err
	}
	list, err := w.Depot.Sign(ctx, []string{text})
	if err != nil {
		return fmt.Errorf("the store can't check a signature: %w", err)
	}
	if !hmac.Equal([]byte(list[0]), []byte(signature)) {
		return unsigned(what)
	}
	return nil
}

// asked fails unless the store signed a request.
func (w *Worker) asked(ctx context.Context, r rounds.Request) error {
	t, err := requestText(r)
	return w.check(ctx, t, err, r.Signature, "Nobody with the token of the store asked for this, so nothing was done. Ask for it again with \"weir stacks apply -on=temporal\".")
}

func (w *Worker) askedWhole(ctx context.Context, whole rounds.Whole) error {
	t, err := wholeText(whole)
	return w.check(ctx, t, err, whole.Signature, "Nobody with the token of the store asked for this, so nothing is published. Ask for it again with \"weir stacks apply -on=temporal\".")
}

// signed fails unless the store signed a decision about a request.
func (w *Worker) signed(ctx context.Context, r rounds.Request, d rounds.Decision) error {
	t, err := decisionText(r, d)
	return w.check(ctx, t, err, d.Signature, "it isn't signed with the key of the store, or is about another request")
}

// approved fails unless rules or a person approved exactly the plan that is to be applied.
func (w *Worker) approved(ctx context.Context, r rounds.Request, planned rounds.Planned) error {
	a := planned.Approval
	if a == nil || a.Kind != rounds.Approve || a.Plan == "" || a.Plan != planned.Plan {
		return unsigned("No approval of this plan reached the worker, so nothing was applied. Ask for it again with \"weir stacks apply -on=temporal\".")
	}
	if err := w.signed(ctx, r, *a); err != nil {
		if u, ok := err.(unsigned); ok {
			return unsigned("Nothing was applied, because the approval by " + a.By + " doesn't count: " + string(u) + ".")
		}
		return err
	}
	return nil
}

// Check implements rounds.Steps.
func (w *Worker) Check(ctx context.Context, r rounds.Request, d rounds.Decision) (problem string, err error) {
	return w.problem(w.signed(ctx, r, d), r)
}
