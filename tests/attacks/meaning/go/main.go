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
	Amount int64   `json:"amount"`
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
}

type row struct {
	Name   string            `json:"name"`
	Params map[string]string `json:"params"`
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

func schemaOf(params map[string]string) json.RawMessage {
	properties := map[string]json.RawMessage{}
	for name, kind := range params {
		properties[name] = json.RawMessage(schemas[kind])
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
		s.AddTool(mcp.NewToolWithRawSchema(r.Name, "", schemaOf(r.Params)),
			func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
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
