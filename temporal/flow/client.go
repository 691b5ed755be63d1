package flow

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"weir.dev/weir/temporal/rounds"
)

// List are the deployments that there are, or those of a stack, in order.
func List(ctx context.Context, c client.Client, stack string) ([]rounds.Status, error) {
	query := "WorkflowType = 'Deployment' AND ExecutionStatus = 'Running'"
	var list []rounds.Status
	var page []byte
	for {
		answer, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: page})
		if err != nil {
			return nil, err
		}
		for _, e := range answer.Executions {
			name, ok := strings.CutPrefix(e.Execution.WorkflowId, "weir/")
			if !ok {
				continue
			}
			var s rounds.Status
			if p := e.Memo.GetFields()[statusMemo]; p != nil {
				if err := converter.GetDefaultDataConverter().FromPayload(p, &s); err != nil {
					return nil, err
				}
			}
			if s.Stack, s.Deployment, ok = strings.Cut(name, "/"); ok && (stack == "" || s.Stack == stack) {
				list = append(list, s)
			}
		}
		if page = answer.NextPageToken; len(page) == 0 {
			break
		}
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return a.Stack < b.Stack || a.Stack == b.Stack && a.Deployment < b.Deployment
	})
	return list, nil
}

// Workers is how many workers have asked for work in the last minutes.
func Workers(ctx context.Context, c client.Client) (int, error) {
	queue, err := c.DescribeTaskQueue(ctx, Queue, enums.TASK_QUEUE_TYPE_ACTIVITY)
	return len(queue.GetPollers()), err
}

// Status is where a deployment is.
func Status(ctx context.Context, c client.Client, stack, deployment string) (s rounds.Status, err error) {
	v, err := c.QueryWorkflow(ctx, DeploymentID(stack, deployment), "", statusQuery)
	if err == nil {
		err = v.Get(&s)
	}
	return s, err
}

// Overview is where a stack is.
func Overview(ctx context.Context, c client.Client, stack string) (o rounds.Overview, err error) {
	v, err := c.QueryWorkflow(ctx, StackID(stack), "", statusQuery)
	if err == nil {
		err = v.Get(&o)
	}
	return o, err
}

// Decide reports a deployment what somebody has decided.
func Decide(ctx context.Context, c client.Client, stack, deployment string, d rounds.Decision) error {
	if err := c.SignalWorkflow(ctx, DeploymentID(stack, deployment), "", decisionSignal, d); err != nil {
		return fmt.Errorf("the deployment %s of the stack %s isn't at work: %w", deployment, stack, err)
	}
	return nil
}
