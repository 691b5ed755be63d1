package cloud

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// DynamoDB keeps tables and their items.
type dynamodb struct{ tables map[string]*table } // by ARN

type table struct {
	description object
	ttl         object
	backups     bool
	days        float64 // that backups are kept
	tags        map[string]string
	items       map[string]object // by key
	policy      string
}

func newDynamoDB() *dynamodb { return &dynamodb{tables: map[string]*table{}} }

func (s *dynamodb) service() service {
	on := func(do func(r *request, t *table) (any, error)) call {
		return func(r *request) (any, error) {
			name := r.text("TableName") + r.text("ResourceArn")
			if s.tables[name] == nil {
				name = arn("dynamodb", r.region, "table/"+name)
			}
			t := s.tables[name]
			if t == nil {
				return nil, refused("ResourceNotFoundException", "Requested resource not found: %s", name)
			}
			return do(r, t)
		}
	}
	return service{dialect: jsonText, calls: map[string]call{
		"CreateTable": s.create,
		"ListTables": func(r *request) (any, error) {
			names := []string{}
			for _, name := range sorted(s.tables) {
				names = append(names, s.tables[name].description.text("TableName"))
			}
			return object{"TableNames": names}, nil
		},
		"DescribeTable": on(func(r *request, t *table) (any, error) { return object{"Table": t.description}, nil }),
		"UpdateTable":   on(func(r *request, t *table) (any, error) { return t.update(r.input) }),
		"DeleteTable": on(func(r *request, t *table) (any, error) {
			if t.description["DeletionProtectionEnabled"] == true {
				return nil, refused("ValidationException", "the table is protected against deletion")
			}
			delete(s.tables, t.description.text("TableArn"))
			return object{"TableDescription": t.description}, nil
		}),
		"DescribeContinuousBackups": on(func(r *request, t *table) (any, error) { return t.describeBackups(), nil }),
		"UpdateContinuousBackups": on(func(r *request, t *table) (any, error) {
			want := r.input.object("PointInTimeRecoverySpecification")
			t.backups = want["PointInTimeRecoveryEnabled"] == true
			t.days = 35
			if days, ok := want["RecoveryPeriodInDays"].(float64); ok {
				t.days = days
			}
			return t.describeBackups(), nil
		}),
		"DescribeTimeToLive": on(func(r *request, t *table) (any, error) { return object{"TimeToLiveDescription": t.ttl}, nil }),
		"UpdateTimeToLive": on(func(r *request, t *table) (any, error) {
			want := r.input.object("TimeToLiveSpecification")
			t.ttl = object{"TimeToLiveStatus": "DISABLED"}
			if want["Enabled"] == true {
				t.ttl = object{"TimeToLiveStatus": "ENABLED", "AttributeName": want.text("AttributeName")}
			}
			return object{"TimeToLiveSpecification": want}, nil
		}),
		"ListTagsOfResource": on(func(r *request, t *table) (any, error) { return object{"Tags": tagList(t.tags, "Key", "Value")}, nil }),
		"TagResource": on(func(r *request, t *table) (any, error) {
			maps.Copy(t.tags, r.input.tags("Tags", "Key", "Value"))
			return nil, nil
		}),
		"UntagResource": on(func(r *request, t *table) (any, error) {
			untag(t.tags, r.input.list("TagKeys"))
			return nil, nil
		}),
		"GetResourcePolicy": on(func(r *request, t *table) (any, error) {
			if t.policy == "" {
				return nil, refused("PolicyNotFoundException", "the table has no policy")
			}
			return object{"Policy": t.policy, "RevisionId": uuid(t.policy)}, nil
		}),
		"PutResourcePolicy": on(func(r *request, t *table) (any, error) {
			t.policy = r.text("Policy")
			return object{"RevisionId": uuid(t.policy)}, nil
		}),
		"DeleteResourcePolicy": on(func(r *request, t *table) (any, error) {
			t.policy = ""
			return nil, nil
		}),
		"PutItem": on(func(r *request, t *table) (any, error) {
			key := t.key(r.input.object("Item"))
			condition := r.text("ConditionExpression")
			if strings.HasPrefix(condition, "attribute_not_exists(") && t.items[key] != nil || !t.items[key].equals(condition, r.input.object("ExpressionAttributeValues")) {
				return nil, refused("ConditionalCheckFailedException", "The conditional request failed")
			}
			t.items[key] = r.input.object("Item")
			return nil, nil
		}),
		"GetItem": on(func(r *request, t *table) (any, error) {
			if item := t.items[t.key(r.input.object("Key"))]; item != nil {
				return object{"Item": item}, nil
			}
			return nil, nil
		}),
		"DeleteItem": on(func(r *request, t *table) (any, error) {
			key := t.key(r.input.object("Key"))
			if !t.items[key].equals(r.text("ConditionExpression"), r.input.object("ExpressionAttributeValues")) {
				return nil, refused("ConditionalCheckFailedException", "The conditional request failed")
			}
			delete(t.items, key)
			return nil, nil
		}),
	}}
}

// equals holds an item to a condition such as "Name = :value", the only kind that is
// known; an empty one holds for all.
func (o object) equals(condition string, values object) bool {
	name, placeholder, found := strings.Cut(condition, " = ")
	return !found || o.object(name).text("S") == values.object(placeholder).text("S")
}

func (s *dynamodb) create(r *request) (any, error) {
	name := arn("dynamodb", r.region, "table/"+r.text("TableName"))
	if s.tables[name] != nil {
		return nil, refused("ResourceInUseException", "Table already exists: %s", r.text("TableName"))
	}
	d := object{
		"TableName": r.text("TableName"), "TableArn": name, "TableId": uuid(name), "TableStatus": "ACTIVE",
		"CreationDateTime": now.Unix(), "ItemCount": 0, "TableSizeBytes": 0,
		"DeletionProtectionEnabled": false,
		"ProvisionedThroughput":     object{"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0},
		"WarmThroughput":            object{"Status": "ACTIVE", "ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000},
		"KeySchema":                 r.input["KeySchema"],
	}
	t := &table{description: d, ttl: object{"TimeToLiveStatus": "DISABLED"}, tags: r.input.tags("Tags", "Key", "Value"), items: map[string]object{}}
	if local := r.input.list("LocalSecondaryIndexes"); len(local) > 0 {
		for _, i := range local {
			index := asObject(i)
			index["IndexArn"] = name + "/index/" + index.text("IndexName")
		}
		d["LocalSecondaryIndexes"] = local
	}
	t.set(r.input)
	var indexes []any
	for _, i := range r.input.list("GlobalSecondaryIndexes") {
		indexes = append(indexes, t.index(asObject(i)))
	}
	if indexes != nil {
		d["GlobalSecondaryIndexes"] = indexes
	}
	s.tables[name] = t
	return object{"TableDescription": d}, nil
}

// set takes over what can be given when a table is made and later.
func (t *table) set(in object) {
	d := t.description
	if v := in["AttributeDefinitions"]; v != nil {
		d["AttributeDefinitions"] = v
	}
	if mode := in.text("BillingMode"); mode != "" {
		d["BillingModeSummary"] = object{"BillingMode": mode}
		if mode == "PAY_PER_REQUEST" {
			d["ProvisionedThroughput"] = object{"ReadCapacityUnits": 0, "WriteCapacityUnits": 0, "NumberOfDecreasesToday": 0}
		}
	}
	if v := in.object("ProvisionedThroughput"); v != nil {
		v["NumberOfDecreasesToday"] = 0
		d["ProvisionedThroughput"] = v
	}
	if v, ok := in["DeletionProtectionEnabled"]; ok {
		d["DeletionProtectionEnabled"] = v
	}
	if class := in.text("TableClass"); class != "" {
		d["TableClassSummary"] = object{"TableClass": class}
	}
	if v := in.object("StreamSpecification"); v != nil {
		if v["StreamEnabled"] == true {
			d["StreamSpecification"] = v
			d["LatestStreamLabel"] = now.Format("2006-01-02T15:04:05.000")
			d["LatestStreamArn"] = d.text("TableArn") + "/stream/" + now.Format("2006-01-02T15:04:05.000")
		} else {
			delete(d, "StreamSpecification")
		}
	}
	if v := in.object("SSESpecification"); v != nil {
		delete(d, "SSEDescription")
		if v["Enabled"] == true {
			key := v.text("KMSMasterKeyId")
			if key == "" {
				key = defaultKey("us-east-1")
			}
			d["SSEDescription"] = object{"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": key}
		}
	}
}

func (t *table) index(in object) object {
	throughput := in.object("ProvisionedThroughput")
	if throughput == nil {
		throughput = object{"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
	}
	throughput["NumberOfDecreasesToday"] = 0
	return object{
		"IndexName": in.text("IndexName"), "IndexArn": t.description.text("TableArn") + "/index/" + in.text("IndexName"),
		"IndexStatus": "ACTIVE", "KeySchema": in["KeySchema"], "Projection": in["Projection"],
		"ProvisionedThroughput": throughput, "ItemCount": 0, "IndexSizeBytes": 0,
		"WarmThroughput": object{"Status": "ACTIVE", "ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000},
	}
}

func (t *table) update(in object) (any, error) {
	t.set(in)
	indexes := t.description.list("GlobalSecondaryIndexes")
	named := func(name string) int {
		return slices.IndexFunc(indexes, func(i any) bool { return i.(object).text("IndexName") == name })
	}
	for _, u := range in.list("GlobalSecondaryIndexUpdates") {
		change := asObject(u)
		if c := change.object("Create"); c != nil {
			indexes = append(indexes, t.index(c))
		}
		if c := change.object("Delete"); c != nil {
			if at := named(c.text("IndexName")); at >= 0 {
				indexes = slices.Delete(indexes, at, at+1)
			}
		}
		if c := change.object("Update"); c != nil {
			if at := named(c.text("IndexName")); at >= 0 && c.object("ProvisionedThroughput") != nil {
				indexes[at].(object)["ProvisionedThroughput"] = c["ProvisionedThroughput"]
			}
		}
	}
	delete(t.description, "GlobalSecondaryIndexes")
	if len(indexes) > 0 {
		t.description["GlobalSecondaryIndexes"] = indexes
	}
	return object{"TableDescription": t.description}, nil
}

func (t *table) describeBackups() any {
	recovery := object{"PointInTimeRecoveryStatus": "DISABLED"}
	if t.backups {
		recovery = object{
			"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": t.days,
			"EarliestRestorableDateTime": now.Unix(), "LatestRestorableDateTime": now.Unix(),
		}
	}
	return object{"ContinuousBackupsDescription": object{"ContinuousBackupsStatus": "ENABLED", "PointInTimeRecoveryDescription": recovery}}
}

// key is the part of an item that makes it one of its own.
func (t *table) key(item object) string {
	key := object{}
	for _, k := range t.description.list("KeySchema") {
		name := asObject(k).text("AttributeName")
		key[name] = item[name]
	}
	text, _ := json.Marshal(key)
	return string(text)
}
