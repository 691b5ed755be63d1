package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"weir.dev/simcloud/cloud"
)

// listenerResource is sim_listener: where a configuration has no blocks of a type, the cloud
// chooses them. The schema says so in planned.go, since the framework can't.
type listenerResource struct{ connection *connection }

var (
	_ resource.ResourceWithConfigure  = (*listenerResource)(nil)
	_ resource.ResourceWithModifyPlan = (*listenerResource)(nil)
)

const listenerType = "sim_listener"

func (r *listenerResource) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = listenerType
}

func (r *listenerResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	content := map[string]schema.Attribute{
		"port": schema.NumberAttribute{Optional: true, Computed: true},
		"note": schema.StringAttribute{Optional: true, Computed: true},
	}
	resp.Schema = schema.Schema{
		Description: "An object with blocks that the cloud chooses where none are written.",
		Attributes: map[string]schema.Attribute{
			"id":   computedForLife(),
			"name": schema.StringAttribute{Required: true},
			"chosen": schema.StringAttribute{Optional: true,
				Description: "When the cloud chooses blocks: plan, or by default apply."},
		},
		Blocks: map[string]schema.Block{
			"rule":   schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: content}},
			"label":  schema.SetNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: content}},
			"limits": schema.SingleNestedBlock{Attributes: content},
		},
	}
}

func (r *listenerResource) Configure(_ context.Context, req resource.ConfigureRequest, _ *resource.ConfigureResponse) {
	r.connection = r.connection.attach(req.ProviderData)
}

// choose fills in the blocks of a plan that it lacks: with those of the state, or with new ones.
func (r *listenerResource) choose(plan, state record, typ tftypes.Object, later bool) {
	for _, name := range listenerBlocks {
		inner := typ.AttributeTypes[name]
		switch old, had := state[name]; {
		case plan.has(name):
			plan[name] = fillBlock(plan[name], inner)
		case had && plan[name].IsKnown():
			plan[name] = old
		case later:
			plan[name] = tftypes.NewValue(inner, tftypes.UnknownValue)
		default:
			plan[name] = chosenBlock(inner)
		}
	}
}

var listenerBlocks = []string{"rule", "label", "limits"}

// chosenBlock is what the cloud chooses of a block.
func chosenBlock(typ tftypes.Type) tftypes.Value {
	one := func(typ tftypes.Type) tftypes.Value {
		return record{"port": num(443), "note": str("chosen")}.value(typ)
	}
	switch typ := typ.(type) {
	case tftypes.List:
		return tftypes.NewValue(typ, []tftypes.Value{one(typ.ElementType), one(typ.ElementType)})
	case tftypes.Set:
		return tftypes.NewValue(typ, []tftypes.Value{one(typ.ElementType)})
	}
	return one(typ)
}

// fillBlock gives the attributes of written blocks that the cloud decides a value.
func fillBlock(v tftypes.Value, typ tftypes.Type) tftypes.Value {
	if _, single := typ.(tftypes.Object); single {
		one := recordOf(v)
		if !one.has("port") {
			one["port"] = num(80)
		}
		if !one.has("note") {
			one["note"] = str("none")
		}
		return one.value(typ)
	}
	var elems []tftypes.Value
	_ = v.As(&elems)
	inner := elementType(typ)
	for i := range elems {
		elems[i] = fillBlock(elems[i], inner)
	}
	return tftypes.NewValue(typ, elems)
}

func elementType(typ tftypes.Type) tftypes.Type {
	if set, ok := typ.(tftypes.Set); ok {
		return set.ElementType
	}
	return typ.(tftypes.List).ElementType
}

func (r *listenerResource) ModifyPlan(_ context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	plan, config := recordOf(req.Plan.Raw), recordOf(req.Config.Raw)
	for _, name := range listenerBlocks {
		if config[name].IsKnown() && !config[name].IsNull() {
			plan[name] = config[name] // the framework has made its attributes unknown
		}
	}
	typ := req.Plan.Raw.Type().(tftypes.Object)
	r.choose(plan, recordOf(req.State.Raw), typ, plan.text("chosen") != "plan")
	resp.Plan.Raw = plan.value(typ)
}

func (r *listenerResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, typ := recordOf(req.Plan.Raw), req.Plan.Raw.Type().(tftypes.Object)
	r.connection.run(r.operation("create", plan), &resp.Diagnostics, func() error {
		o := &cloud.Object{Type: listenerType, Name: r.connection.prefix + plan.text("name"), Region: r.connection.region}
		err := r.connection.cloud.Create(o, false, func() { r.complete(plan, typ, o) })
		resp.State.Raw = plan.value(typ)
		return err
	})
}

// complete chooses what the plan left open, and stores the object.
func (r *listenerResource) complete(plan record, typ tftypes.Object, o *cloud.Object) {
	plan["id"] = str(o.ID)
	r.choose(plan, record{}, typ, false)
	o.Attributes = encode(plan.value(typ), typ).(map[string]any)
	delete(o.Attributes, "id")
	delete(o.Attributes, "name")
}

func (r *listenerResource) Read(_ context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, typ := recordOf(req.State.Raw), req.State.Raw.Type()
	r.connection.run(r.operation("read", state), &resp.Diagnostics, func() error {
		o, err := r.connection.cloud.Get(state.text("id"))
		if errors.Is(err, cloud.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		v, err := decode(o.Attributes, typ)
		if err != nil {
			return fmt.Errorf("%s: %w", o.ID, err)
		}
		read := recordOf(v)
		read["id"], read["name"] = str(o.ID), str(strings.TrimPrefix(o.Name, r.connection.prefix))
		resp.State.Raw = read.value(typ)
		return nil
	})
}

func (r *listenerResource) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, typ := recordOf(req.Plan.Raw), req.Plan.Raw.Type().(tftypes.Object)
	r.connection.run(r.operation("update", plan), &resp.Diagnostics, func() error {
		o := &cloud.Object{Type: listenerType, ID: plan.text("id"), Name: r.connection.prefix + plan.text("name"), Region: r.connection.region}
		err := r.connection.cloud.Update(o, func() { r.complete(plan, typ, o) })
		resp.State.Raw = plan.value(typ)
		return err
	})
}

func (r *listenerResource) Delete(_ context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state := recordOf(req.State.Raw)
	r.connection.run(r.operation("delete", state), &resp.Diagnostics, func() error {
		return r.connection.cloud.Delete(state.text("id"))
	})
}

func (r *listenerResource) operation(op string, values record) operation {
	return operation{op: op, typ: listenerType, name: r.connection.prefix + values.text("name")}
}

// checkComputedBlocks is the error of a plan by an engine that doesn't let providers choose
// blocks, or doesn't say where they may: an empty list of blocks is one that nobody may change.
func (b *contractBreaker) checkComputedBlocks(ctx context.Context, req *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	problem := func(text string) (*tfprotov6.PlanResourceChangeResponse, error) {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: req.ProposedNewState, Diagnostics: []*tfprotov6.Diagnostic{{
			Severity: tfprotov6.DiagnosticSeverityError, Summary: "No computed blocks", Detail: text,
		}}}, nil
	}
	if !computesBlocks.in(ctx) {
		return problem("A listener needs an engine that allows computed blocks.")
	}
	schema, err := b.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return nil, err
	}
	config, err := req.Config.Unmarshal(schema.ResourceSchemas[listenerType].ValueType())
	if err != nil {
		return nil, err
	}
	for name, v := range recordOf(config) {
		var elems []tftypes.Value
		if _, list := v.Type().(tftypes.List); list && v.IsKnown() && !v.IsNull() && v.As(&elems) == nil && len(elems) == 0 {
			return problem("The blocks " + name + " aren't written, and yet the configuration has an empty list.")
		}
	}
	return nil, nil
}
