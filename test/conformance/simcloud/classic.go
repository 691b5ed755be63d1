package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/retry"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"weir.dev/simcloud/cloud"
)

// classicType is a resource written with the old SDK, which most providers in
// use still are: it asks for the old type system's tolerance, confuses zero
// values with null, keeps timeouts in its private data, plans lists and sets
// of blocks that aren't known, and answers in another form than it was asked.
const classicType = "sim_classic"

// classicProvider is the part of the provider that is written with the old
// SDK. It works with the connection that the other part has configured, and
// declares the same configuration, as parts of one provider have to.
func classicProvider(p *simProvider) *schema.Provider {
	text := func(description string) *schema.Schema {
		return &schema.Schema{Type: schema.TypeString, Optional: true, Description: description}
	}
	flag := func(description string) *schema.Schema {
		return &schema.Schema{Type: schema.TypeBool, Optional: true, Description: description}
	}
	s := map[string]*schema.Schema{}
	for name, a := range providerArguments() {
		if a.flag {
			s[name] = flag(a.description)
		} else {
			s[name] = text(a.description)
		}
		s[name].Sensitive = a.sensitive
	}
	c := classic{p}
	return &schema.Provider{
		Schema:         s,
		ResourcesMap:   map[string]*schema.Resource{classicType: c.resource()},
		DataSourcesMap: map[string]*schema.Resource{classicType: c.dataSource()},
	}
}

type classic struct{ *simProvider }

// classicPort and classicRule are blocks that the cloud fills in without one; to rules it adds
// a note.
func classicPort() *schema.Resource {
	return &schema.Resource{Schema: map[string]*schema.Schema{
		"port":  {Type: schema.TypeInt, Required: true},
		"proto": {Type: schema.TypeString, Optional: true, Default: "tcp"},
	}}
}

func classicRule() *schema.Resource {
	r := classicPort()
	r.Schema["note"] = &schema.Schema{Type: schema.TypeString, Optional: true, Computed: true}
	return r
}

func (c classic) resource() *schema.Resource {
	optional := func(t schema.ValueType) *schema.Schema { return &schema.Schema{Type: t, Optional: true} }
	of := func(t schema.ValueType, elem any) *schema.Schema {
		return &schema.Schema{Type: t, Optional: true, Elem: elem}
	}
	computed := func(s *schema.Schema) *schema.Schema {
		s.Computed = true
		return s
	}
	words := &schema.Schema{Type: schema.TypeString}
	return &schema.Resource{
		Description:   "An object as the old SDK has them.",
		SchemaVersion: 1,
		Schema: map[string]*schema.Schema{
			"name":    {Type: schema.TypeString, Required: true, ForceNew: true},
			"value":   optional(schema.TypeString),
			"size":    {Type: schema.TypeInt, Optional: true, Description: "Zero is stored where nothing is given; it can't shrink."},
			"on":      optional(schema.TypeBool),
			"mode":    {Type: schema.TypeString, Optional: true, Default: "standard"},
			"tags":    of(schema.TypeMap, words),
			"words":   of(schema.TypeSet, words),
			"ordered": of(schema.TypeList, words),
			"owner":   {Type: schema.TypeString, Optional: true, Computed: true, Description: "The cloud fills it in when the object is first updated."},
			"label": {Type: schema.TypeString, Optional: true, Description: "Compared without regard to case.",
				DiffSuppressFunc: func(_, old, new string, _ *schema.ResourceData) bool { return strings.EqualFold(old, new) }},
			"script": {Type: schema.TypeString, Optional: true, Description: "A digest of it is stored.",
				StateFunc: func(v any) string { return digest(v.(string)) }},
			"secret":     {Type: schema.TypeString, Optional: true, Sensitive: true},
			"secret_wo":  {Type: schema.TypeString, Optional: true, WriteOnly: true},
			"old_value":  {Type: schema.TypeString, Optional: true, Deprecated: "Use value instead."},
			"derived":    {Type: schema.TypeString, Computed: true, Description: "Made of the value when the plan is."},
			"generation": {Type: schema.TypeInt, Computed: true},
			"status": {Type: schema.TypeList, Computed: true, Description: "Comes and goes with on.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{"text": {Type: schema.TypeString, Computed: true}}}},

			"rule":     computed(of(schema.TypeList, classicRule())),
			"port":     computed(of(schema.TypeSet, classicPort())),
			"old_rule": {Type: schema.TypeList, Optional: true, Deprecated: "Use rule instead.", Elem: classicRule()},
			"login": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"user":     {Type: schema.TypeString, Required: true},
				"password": {Type: schema.TypeString, Required: true, Sensitive: true},
			}}},

			// Faults.
			"fail_on":   {Type: schema.TypeSet, Optional: true, Elem: words, Description: "create, read, update or delete; partial_create and partial_update come to half of the request; warn causes a warning; unstable plans differ from each other."},
			"throttled": {Type: schema.TypeInt, Optional: true, Description: "How often the cloud says that it is asked too often."},
		},
		Timeouts: &schema.ResourceTimeout{
			Create: schema.DefaultTimeout(time.Minute), Update: schema.DefaultTimeout(time.Minute), Delete: schema.DefaultTimeout(time.Minute),
		},
		Identity: &schema.ResourceIdentity{
			Version: 1,
			SchemaFunc: func() map[string]*schema.Schema {
				return map[string]*schema.Schema{"id": {Type: schema.TypeString, RequiredForImport: true}}
			},
			IdentityUpgraders: []schema.IdentityUpgrader{{
				Version: 0,
				Type:    tftypes.Object{AttributeTypes: map[string]tftypes.Type{"key": tftypes.String}},
				Upgrade: func(_ context.Context, raw map[string]any, _ any) (map[string]any, error) {
					return map[string]any{"id": raw["key"]}, nil
				},
			}},
		},
		StateUpgraders: []schema.StateUpgrader{{
			Version: 0,
			Type:    cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String, "content": cty.String}),
			Upgrade: func(_ context.Context, raw map[string]any, _ any) (map[string]any, error) {
				raw["value"] = raw["content"]
				delete(raw, "content")
				return raw, nil
			},
		}},
		CustomizeDiff: c.customize,
		Importer:      &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughWithIdentity("id")},
		CreateContext: c.create, ReadContext: c.read, UpdateContext: c.update, DeleteContext: c.delete,
	}
}

func (c classic) dataSource() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{
			"object_id": {Type: schema.TypeString, Required: true},
			"value":     {Type: schema.TypeString, Computed: true},
			"secret":    {Type: schema.TypeString, Computed: true, Sensitive: true},
			"rule":      {Type: schema.TypeList, Computed: true, Elem: classicRule()},
		},
		ReadContext: func(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
			o, err := c.connection.cloud.Get(d.Get("object_id").(string))
			if err != nil {
				return diag.FromErr(err)
			}
			d.SetId(o.ID)
			for _, name := range []string{"value", "secret", "rule"} {
				if err := d.Set(name, o.Attributes[name]); err != nil {
					return diag.FromErr(err)
				}
			}
			return nil
		},
	}
}

// customize plans what follows from the arguments.
func (c classic) customize(_ context.Context, d *schema.ResourceDiff, _ any) error {
	if old, now := d.GetChange("size"); d.Id() != "" && now.(int) < old.(int) {
		if err := d.ForceNew("size"); err != nil {
			return err
		}
	}
	if d.Id() != "" && d.HasChange("on") {
		if err := d.SetNewComputed("status"); err != nil {
			return err
		}
	}
	if d.Id() != "" && !d.HasChange("value") {
		return nil
	}
	if !d.NewValueKnown("value") {
		if d.Get("fail_on").(*schema.Set).Contains("unstable") {
			return d.SetNew("derived", "a guess")
		}
		return d.SetNewComputed("derived")
	}
	return d.SetNew("derived", "of "+d.Get("value").(string))
}

func (c classic) operation(op string, d *schema.ResourceData) operation {
	o := operation{op: op, typ: classicType, name: c.connection.prefix + d.Get("name").(string)}
	if o.name == c.connection.prefix {
		o.name = d.Id() // just imported
	}
	for _, v := range d.Get("fail_on").(*schema.Set).List() {
		o.failOn = append(o.failOn, v.(string))
	}
	return o
}

// throttle does something that the cloud rejects as often as instructed, and asks again and
// again until the operation's time is over.
func (c classic) throttle(ctx context.Context, d *schema.ResourceData, limit string, o operation, do func() error) error {
	refusals := d.Get("throttled").(int)
	return retry.RetryContext(ctx, d.Timeout(limit), func() *retry.RetryError {
		if refusals--; refusals >= 0 {
			return retry.RetryableError(errors.New("the cloud is asked too often"))
		}
		if err := c.connection.attempt(o, do); err != nil {
			return retry.NonRetryableError(err)
		}
		return nil
	})
}

func digest(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("%.4x", sha256.Sum256([]byte(text)))
}

// classicStored are the arguments that the cloud keeps as they are.
var classicStored = []string{"value", "size", "on", "mode", "tags", "words", "ordered", "label", "script", "secret", "old_value", "rule", "port", "old_rule", "login"}

func plain(v any) any {
	if set, ok := v.(*schema.Set); ok {
		v = set.List()
	}
	switch v := v.(type) {
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, plain(e))
		}
		return list
	case map[string]any:
		members := map[string]any{}
		for name, e := range v {
			members[name] = plain(e)
		}
		return members
	}
	return v
}

// fill gives an object its attributes and what the cloud adds to them.
func (c classic) fill(o *cloud.Object, d *schema.ResourceData, half bool) {
	if o.Attributes == nil {
		o.Attributes = map[string]any{}
	}
	for _, name := range classicStored {
		if !half || name == "value" {
			o.Attributes[name] = plain(d.Get(name))
		}
	}
	if d.HasChange("script") && !half {
		o.Attributes["script"] = digest(d.Get("script").(string))
	}
	for _, block := range []string{"rule", "port"} {
		if rules, _ := o.Attributes[block].([]any); len(rules) == 0 {
			o.Attributes[block] = []any{map[string]any{"port": 22, "proto": "tcp"}}
		}
	}
	for _, r := range o.Attributes["rule"].([]any) {
		if r := r.(map[string]any); r["note"] == nil || r["note"] == "" {
			r["note"] = fmt.Sprint("opened for ", r["port"])
		}
	}
	o.Attributes["status"] = []any{}
	if d.Get("on").(bool) {
		o.Attributes["status"] = []any{map[string]any{"text": fmt.Sprint("running ", o.Generation)}}
	}
	if owner := d.Get("owner").(string); owner != "" || o.Generation == 1 {
		o.Attributes["owner"] = owner
	} else {
		o.Attributes["owner"] = "somebody"
	}
	// The cloud has its own order of things.
	if words, ok := o.Attributes["words"].([]any); ok {
		sort.Slice(words, func(i, j int) bool { return fmt.Sprint(words[i]) > fmt.Sprint(words[j]) })
	}
	// Numbers as they come back from the file.
	text, err := json.Marshal(o.Attributes)
	if err == nil {
		o.Attributes = nil
		err = json.Unmarshal(text, &o.Attributes)
	}
	if err != nil {
		panic(err)
	}
}

// show puts an object into the state. Nothing is ever null here.
func (c classic) show(d *schema.ResourceData, o *cloud.Object) diag.Diagnostics {
	d.SetId(o.ID)
	values := map[string]any{"name": strings.TrimPrefix(o.Name, c.connection.prefix), "generation": o.Generation}
	for _, name := range append([]string{"owner", "status"}, classicStored...) {
		values[name] = o.Attributes[name]
	}
	values["derived"] = fmt.Sprint("of ", o.Attributes["value"])
	for name, v := range values {
		if f, ok := v.(float64); ok {
			v = int(f)
		}
		if err := d.Set(name, v); err != nil {
			return diag.FromErr(fmt.Errorf("%s: %w", name, err))
		}
	}
	identity, err := d.Identity()
	if err == nil {
		err = identity.Set("id", o.ID)
	}
	return diag.FromErr(err)
}

// warned are the warnings that an object was instructed to give.
func warned(o operation) diag.Diagnostics {
	if !slices.Contains(o.failOn, "warn") {
		return nil
	}
	return diag.Diagnostics{{Severity: diag.Warning, Summary: "Something to know", Detail: "It was told to warn."}}
}

var errHalf = errors.New("only half of it was done")

func (c classic) create(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	op := c.operation("create", d)
	half := slices.Contains(op.failOn, "partial_create")
	o := &cloud.Object{Type: classicType, Name: op.name, Region: c.connection.region}
	err := c.throttle(ctx, d, schema.TimeoutCreate, op, func() error {
		return c.connection.cloud.Create(o, false, func() { c.fill(o, d, half) })
	})
	diags := warned(op)
	if err != nil {
		return append(diags, diag.FromErr(err)...)
	}
	diags = append(diags, c.show(d, o)...)
	if half {
		diags = append(diags, diag.FromErr(errHalf)...)
	}
	return diags
}

func (c classic) read(_ context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	var diags diag.Diagnostics
	err := c.connection.attempt(c.operation("read", d), func() error {
		o, err := c.connection.cloud.Get(d.Id())
		if errors.Is(err, cloud.ErrNotFound) {
			d.SetId("")
			return nil
		}
		if err == nil {
			diags = c.show(d, o)
		}
		return err
	})
	return append(diags, diag.FromErr(err)...)
}

func (c classic) update(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	op := c.operation("update", d)
	half := slices.Contains(op.failOn, "partial_update")
	var o *cloud.Object
	err := c.throttle(ctx, d, schema.TimeoutUpdate, op, func() error {
		old, err := c.connection.cloud.Get(d.Id())
		if err != nil {
			return err
		}
		o = &cloud.Object{Type: classicType, ID: old.ID, Name: op.name, Region: old.Region, Attributes: old.Attributes}
		return c.connection.cloud.Update(o, func() { c.fill(o, d, half) })
	})
	diags := warned(op)
	if err != nil {
		d.Partial(true) // nothing of the new values has become
		return append(diags, diag.FromErr(err)...)
	}
	diags = append(diags, c.show(d, o)...)
	if half {
		diags = append(diags, diag.FromErr(errHalf)...)
	}
	return diags
}

func (c classic) delete(ctx context.Context, d *schema.ResourceData, _ any) diag.Diagnostics {
	op := c.operation("delete", d)
	err := c.throttle(ctx, d, schema.TimeoutDelete, op, func() error {
		return c.connection.cloud.Delete(d.Id())
	})
	return append(warned(op), diag.FromErr(err)...)
}
