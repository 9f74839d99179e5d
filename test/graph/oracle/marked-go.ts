/** Types through fields, results, embedding and ranges, and what hides a name. Comments say who is called, see `marked-files.ts`. */
export const typesInGo: Readonly<Record<string, string>> = {
  "go.mod": "module example.org/shop/v2\n",
  "shop.go": `package shop
import (
	"fmt"
	m "example.org/shop/v2/money"
	"net/http"
)
type Priced interface { Price() *m.Money } //= def asked
type base struct { log []Line }
func (b *base) Log(text string) { fmt.Println(text) } //= def Log
type Line struct { cents m.Money }
func (l Line) Price() *m.Money { return &l.cents } //= def Price
type Cart struct {
	*base
	lines map[string][]*Line
	handler http.Handler
	check func() Line
}
func New(lines ...*Line) (*Cart, error) { return &Cart{}, nil } //= def New
func (c *Cart) Total() (sum m.Money) { //= def Total
	for _, group := range c.lines {
		for _, line := range group {
			sum.Add(line.Price()) //= calls Add, Price
		}
	}
	c.Log(c.check().Price().Text()) //= calls Log, Price, Text
	c.handler.ServeHTTP(nil, nil)
	if New := m.Of(1); New != nil { //= calls Of
		New()
	}
	return
}
func (c *Cart) ServeHTTP(w http.ResponseWriter, r *http.Request) { //= def ServeHTTP
	cart, _ := New() //= calls New
	cart.ServeHTTP(w, r) //= calls ServeHTTP
	go func(c Line) { c.Price() }(Line{}) //= calls Price
	w.Write(nil)
}
func (c *Cart) Write(b []byte) (int, error) { return 0, nil } //= def Write
func use(p Priced, v any) {
	p.Price().Text() //= calls asked, Text
	switch t := v.(type) {
	case *Cart:
		t.Total() //= calls Total
	case Line, *Line:
		t.Price()
	}
	m.Map[int, Line](nil)[0].Price() //= calls Map
	pair := m.Pair[Line]{}
	pair.First().Price() //= calls First, Price
	var x = Line{}
	(&x).Price() //= calls Price
	(*Cart).Total(nil) //= calls Total
	if v == nil || !x.Price().same().Known(x) { //= calls Price, same, Known
	}
}
`,
  "money/money.go": `package money
type Money struct { cents int }
func (m *Money) Add(o *Money) { m.cents += o.cents } //= def Add
func (m *Money) same() *Money { return m } //= def same
func (m *Money) Known(v any) bool { return m != nil } //= def Known
func (m Money) Text() string { return text(m) } //= def Text
func Of(cents int) func() { return nil } //= def Of
func Map[A, B any](a []A) []B { return nil } //= def Map
type Pair[T any] struct { first T }
func (p Pair[E]) First() E { return p.first } //= def First
`,
  "money/text_linux.go": `package money
func text(m Money) string { return "" } //= def linux
`,
  "money/text_windows.go": `package money
func text(m Money) string { return "" } //= def windows
`,
};
