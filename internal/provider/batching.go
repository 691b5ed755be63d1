package provider

import "context"

// Batches is how many requests about one resource type a provider takes in one call. 0 and
// 1 are for one at a time.
type Batches struct{ Read, Plan, Apply int }

// A Batching provider may take several requests in one call. Answers are in the order of
// requests, as many of them, and each is what the call for that request alone results in.
type Batching interface {
	// Batches reports for a resource type how many. It may ask the provider, once.
	Batches(ctx context.Context, typ string) Batches
	ReadMany(ctx context.Context, rs []ReadRequest) []ReadResponse
	PlanMany(ctx context.Context, rs []PlanRequest) []PlanResponse
	ApplyMany(ctx context.Context, rs []ApplyRequest) []ApplyResponse
}
