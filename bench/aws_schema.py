#!/usr/bin/env python3
"""Write the schemas of hashicorp/aws without that provider.

aws_schema.py PACKAGE FILE: PACKAGE is the unpacked npm package @cdktf/provider-aws, whose
classes are generated from the schemas. FILE is for the plugin test/conformance/simcloud/declared.
Names, nesting and what is required are the provider's. Descriptions are missing, and so are the
parts that the classes leave open, such as the statements of aws_wafv2_web_acl."""
import glob, json, os, re, sys

TYPES = {"string": "string", "number": "number", "boolean": "bool", "any": "string", "stringList": ["list", "string"], "stringSet": ["set", "string"],
    "numberList": ["list", "number"], "numberSet": ["set", "number"], "booleanList": ["list", "bool"], "stringMap": ["map", "string"], "numberMap": ["map", "number"],
    "booleanMap": ["map", "bool"], "anyMap": ["map", "string"], "stringListList": ["list", ["list", "string"]], "stringMapList": ["list", ["map", "string"]], "stringListMap": ["map", ["list", "string"]]}
GETTERS = {"String": "string", "Number": "number", "Boolean": "bool", "List": ["list", "string"], "NumberList": ["list", "number"], "StringMap": ["map", "string"],
    "NumberMap": ["map", "number"], "BooleanMap": ["map", "bool"], "AnyMap": ["map", "string"]}
CLASSES = {"StringMap": ["map", "string"], "StringMapList": ["list", ["map", "string"]], "NumberMap": ["map", "number"], "BooleanMap": ["map", "bool"],
    "StringListList": ["list", ["list", "string"]], "NumberListList": ["list", ["list", "number"]], "StringListMap": ["map", ["list", "string"]]}

FUNCTION = re.compile(r"^function (\w+)ToHclTerraform\(struct\) \{\n(.*?)^\}", re.M | re.S)
ENTRY = re.compile(r'^\s+(\w+): \{\n\s+value: .*?,\n\s+isBlock: (true|false),\n\s+type: "(\w+)",\n\s+storageClassType: "(\w+)",\n', re.M)
CLASS = re.compile(r"^class (\w+) extends cdktf\.(\w+) \{\n(.*?)^\}", re.M | re.S)
COMPUTED = r"// (\w+) - computed: true, optional: false, required: false\n\s+"
GETTER = re.compile(COMPUTED + r"get \w+\(\) \{\n\s+return (?:cdktf\.Fn\.tolist\()?this\.get(\w+?)Attribute\(")
OBJECT = re.compile(COMPUTED + r'this\._\w+ = new (cdktf\.)?(\w+)\(this, "\w+"(?:, (true|false))?\)')
INTERFACE = re.compile(r"^export interface (\w+)[^\n]*\{\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"((?:/\*\*.*?\*/)?)\s+readonly (\w+)(\??): (.*?);", re.S)

class Unit:
    """One resource type, data source or provider configuration."""
    def __init__(self, folder):
        js, types = (open(os.path.join(folder, name)).read() for name in ("index.js", "index.d.ts"))
        self.functions = {m[1]: ENTRY.findall(m[2]) for m in FUNCTION.finditer(js)}
        self.classes = {m[1]: (m[2], m[3]) for m in CLASS.finditer(js)}
        self.interfaces = {}
        for m in INTERFACE.finditer(types):
            fields = self.interfaces[m[1]] = {}
            for comment, name, optional, _ in FIELD.findall(m[2]):
                documented = re.search(r"#(\w+) \w+#\w+\}", comment)
                fields[documented[1] if documented else re.sub("([A-Z])", lambda k: "_" + k[1].lower(), name)] = not optional, bool(re.search(r"\* \w+ block\n", comment))
        main = next((k for k, v in self.classes.items() if v[0] in ("TerraformResource", "TerraformDataSource", "TerraformProvider")), None)
        if main:
            self.kind, body = self.classes[main]
            self.name = re.search(r'\.tfResourceType = "(\w+)"', js)[1]
            arguments = re.search(r"synthesizeHclAttributes\(\) \{\n(.*?)^    \}", body, re.M | re.S)
            self.block = self.made(ENTRY.findall(arguments[1]) if arguments else [], main + "Config", main)

    def computed(self, name):
        body = self.classes.get(name, ("", ""))[1]
        found = {n: GETTERS.get(g, "string") for n, g in GETTER.findall(body)}
        for n, plain, of, is_set in OBJECT.findall(body):
            if plain:
                found[n] = CLASSES.get(of, "string")
            elif of.endswith("List"):
                found[n] = ["set" if is_set == "true" else "list", self.object(of[:-4] + "OutputReference")]
            elif of.endswith("Map"):
                found[n] = ["map", self.object(of[:-3] + "OutputReference")]
            else:
                found[n] = self.object(of)
        return found

    def object(self, name):
        base = name.removesuffix("OutputReference")
        attributes = self.computed(name)
        for n, _, kind, of in self.functions.get(base[0].lower() + base[1:], []):
            attributes[n] = self.type(kind, of)
        return ["object", attributes]

    def type(self, kind, of):
        if of in TYPES:
            return TYPES[of]
        if kind == "struct":
            return self.object(of)
        for end, one in (("List", "list"), ("Set", "set"), ("Map", "map")):
            if of.endswith(end):
                return [kind if kind in ("list", "set", "map") else one, self.object(of[:-len(end)])]
        return "string"

    def made(self, entries, interface, name):
        attributes, blocks = {}, {}
        fields = self.interfaces.get(interface, {})
        for n, is_block, kind, of in entries:
            required, documented = fields.get(n, (False, False))
            if is_block == "true" and documented:
                base = re.sub("(List|Set)$", "", of) if kind in ("list", "set") else of
                inner = self.made(self.functions.get(base[0].lower() + base[1:], []), base, base + "OutputReference")
                blocks[n] = {"nesting_mode": "single" if n == "timeouts" else "set" if kind == "set" else "list", "block": inner}
                if n != "timeouts" and required:
                    blocks[n]["min_items"] = 1
                if n != "timeouts" and base + "List" not in self.classes:
                    blocks[n]["max_items"] = 1
                continue
            chosen = n in ("id", "tags_all", "arn", "region")
            attributes[n] = {"type": self.type(kind, of), "required" if required and not chosen else "optional": True}
            if chosen:
                attributes[n]["computed"] = True
        for n, t in self.computed(name).items():
            if n not in attributes and n not in blocks:
                attributes[n] = {"type": t, "computed": True}
        return {"attributes": attributes, "block_types": blocks}

def main(package, file):
    out = {"resource_schemas": {}, "data_source_schemas": {}}
    for js in sorted(glob.glob(os.path.join(package, "lib", "*", "index.js"))):
        if "extends cdktf.Terraform" not in open(js).read():
            continue
        u = Unit(os.path.dirname(js))
        schema = {"version": 0, "block": u.block}
        if u.kind == "TerraformProvider":
            out["provider"] = schema
        else:
            out["data_source_schemas" if u.kind == "TerraformDataSource" else "resource_schemas"][u.name] = schema
    json.dump(out, open(file, "w"))
    print(f'{len(out["resource_schemas"])} resource types, {len(out["data_source_schemas"])} data sources')

if __name__ == "__main__":
    main(*sys.argv[1:])
