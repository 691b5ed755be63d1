// Command standin is a provider plugin with the types of a JSON file. It loads, validates and
// plans configurations of providers that tests can't install.
//
// The file has the name of the program with .json after it. Objects are what the
// configuration says, with made-up values for computed attributes; nothing is kept.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// A description is what the file says. Attributes are written as in "id": "string
// optional computed".
type description struct {
	Provider   attributes            `json:"provider"`
	Resources  map[string]attributes `json:"resources"`
	Data       map[string]attributes `json:"data"`
	Ephemerals map[string]attributes `json:"ephemerals"`
	Actions    map[string]attributes `json:"actions"`
	// Functions take one value and give it back.
	Functions []string `json:"functions"`
	// Identities are the resources that are known by their id.
	Identities []string `json:"identities"`
}

func main() {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(self + ".json")
	if err != nil {
		log.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(data, &d); err != nil {
		log.Fatal(err)
	}
	err = tf6server.Serve("registry.opentofu.org/weir/standin", func() tfprotov6.ProviderServer { return &server{d: d} })
	if err != nil {
		log.Fatal(err)
	}
}

// types are those that a description can name.
var types = map[string]tftypes.Type{
	"string": tftypes.String, "bool": tftypes.Bool, "number": tftypes.Number, "any": tftypes.DynamicPseudoType,
	"strings": tftypes.Set{ElementType: tftypes.String}, "map": tftypes.Map{ElementType: tftypes.String},
}
