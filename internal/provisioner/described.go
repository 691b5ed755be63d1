package provisioner

import (
	"context"
	"errors"

	"github.com/zclconf/go-cty/cty"

	"weir.dev/weir/internal/schema"
)

// described is a provisioner that is known by its schema only.
type described struct{ block *schema.Block }

var (
	file = described{&schema.Block{Attributes: map[string]*schema.Attribute{
		"source":      {Type: cty.String, Optional: true},
		"content":     {Type: cty.String, Optional: true},
		"destination": {Type: cty.String, Required: true},
	}}}
	remoteExec = described{&schema.Block{Attributes: map[string]*schema.Attribute{
		"inline":  {Type: cty.List(cty.String), Optional: true},
		"script":  {Type: cty.String, Optional: true},
		"scripts": {Type: cty.List(cty.String), Optional: true},
	}}}
)

// Schema implements Provisioner.
func (d described) Schema() *schema.Block { return d.block }

// Run implements Provisioner.
func (described) Run(context.Context, Place, cty.Value, func(string)) error {
	return errors.New("this kind of provisioner can't be run")
}

// Connection is the schema of connection blocks: what any kind of connection has.
func Connection() *schema.Block {
	b := &schema.Block{Attributes: map[string]*schema.Attribute{
		"port":         {Type: cty.Number, Optional: true},
		"bastion_port": {Type: cty.Number, Optional: true},
		"proxy_port":   {Type: cty.Number, Optional: true},
		"agent":        {Type: cty.Bool, Optional: true},
		"https":        {Type: cty.Bool, Optional: true},
		"insecure":     {Type: cty.Bool, Optional: true},
		"use_ntlm":     {Type: cty.Bool, Optional: true},
	}}
	for _, name := range []string{
		"type", "user", "password", "host", "timeout", "script_path", "target_platform",
		"private_key", "certificate", "host_key", "agent_identity",
		"proxy_scheme", "proxy_host", "proxy_user_name", "proxy_user_password",
		"bastion_host", "bastion_host_key", "bastion_user", "bastion_password", "bastion_private_key", "bastion_certificate",
		"cacert",
	} {
		b.Attributes[name] = &schema.Attribute{Type: cty.String, Optional: true}
	}
	return b
}
