// Tools of mcp-go that answer with what they received, after encoding/json has bound it to a struct.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"reflect"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type nested struct {
	Amount *int64  `json:"amount,omitempty"`
	Label  *string `json:"label,omitempty"`
}

var kinds = map[string]reflect.Type{
	"integer":  reflect.TypeOf((*int64)(nil)),
	"number":   reflect.TypeOf((*float64)(nil)),
	"string":   reflect.TypeOf((*string)(nil)),
	"boolean":  reflect.TypeOf((*bool)(nil)),
	"integers": reflect.TypeOf([]int64(nil)),
	"strings":  reflect.TypeOf([]string(nil)),
	"map":      reflect.TypeOf(map[string]int64(nil)),
	"nested":   reflect.TypeOf((*nested)(nil)),
	"either":   reflect.TypeOf((*any)(nil)).Elem(),
}

var schemas = map[string]string{
	"integer":  `{"type":"integer"}`,
	"number":   `{"type":"number"}`,
	"string":   `{"type":"string"}`,
	"boolean":  `{"type":"boolean"}`,
	"integers": `{"type":"array","items":{"type":"integer"}}`,
	"strings":  `{"type":"array","items":{"type":"string"}}`,
	"map":      `{"type":"object","additionalProperties":{"type":"integer"}}`,
	"nested":   `{"type":"object","properties":{"amount":{"type":"integer"},"label":{"type":"string"}}}`,
	"either":   `{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}`,
}

type row struct {
	Name     string               `json:"name"`
	Params   map[string]string    `json:"params"`
	Aliases  map[string][2]string `json:"aliases"`
	Defaults map[string]any       `json:"defaults"`
}

// What stands under the alias, as the argument itself.
func find(given map[string]any, alias [2]string) any {
	at := given[alias[0]]
	switch alias[1] {
	case "member":
		object, _ := at.(map[string]any)
		return object["value"]
	case "element":
		if list, _ := at.([]any); len(list) > 0 {
			return list[0]
		}
		return nil
	}
	return at
}

func has(given map[string]any, name string) bool {
	for key := range given {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// Arguments that are missing are looked for under their further names, as an UnmarshalJSON of the handler's own would do. Then their
// defaults apply.
func resolve(request *mcp.CallToolRequest, r row) {
	given := request.GetArguments()
	found := map[string]any{}
	for key, value := range given {
		found[key] = value
	}
	for name, alias := range r.Aliases {
		if value := find(given, alias); value != nil && !has(given, name) {
			found[name] = value
		}
	}
	for name, value := range r.Defaults {
		if !has(found, name) {
			found[name] = value
		}
	}
	request.Params.Arguments = found
}

// A struct with one field for each parameter, as a typed handler would have it.
func structOf(params map[string]string) reflect.Type {
	var fields []reflect.StructField
	for name, kind := range params {
		fields = append(fields, reflect.StructField{
			Name: "F_" + strings.ToUpper(name[:1]) + name[1:],
			Type: kinds[kind],
			Tag:  reflect.StructTag(`json:"` + name + `,omitempty"`),
		})
	}
	return reflect.StructOf(fields)
}

func schemaOf(r row) json.RawMessage {
	properties := map[string]any{}
	for name, kind := range r.Params {
		property := map[string]any{}
		if err := json.Unmarshal([]byte(schemas[kind]), &property); err != nil {
			log.Fatal(err)
		}
		if value, ok := r.Defaults[name]; ok {
			property["default"] = value
		}
		properties[name] = property
	}
	text, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
	return text
}

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var rows []row
	if err := json.Unmarshal(text, &rows); err != nil {
		log.Fatal(err)
	}
	s := server.NewMCPServer("typed", "1")
	for _, r := range rows {
		shape := structOf(r.Params)
		s.AddTool(mcp.NewToolWithRawSchema(r.Name, "", schemaOf(r)),
			func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				resolve(&request, r)
				received := reflect.New(shape).Interface()
				if err := request.BindArguments(received); err != nil {
					return nil, err
				}
				said, err := json.Marshal(received)
				return mcp.NewToolResultText(string(said)), err
			})
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
