"""The functions and layers: sequences in pieces, packed texts, learning rates of zero, plain recurrences."""
import unittest

import torch
import torch.nn.functional as F

import lact_torch
from support import close


def tokens(batch, count, heads, width, dtype=torch.float64):
    q, k = (F.normalize(torch.randn(batch, count, heads, width, dtype=dtype), dim=-1) for _ in range(2))
    return q, k, torch.randn(batch, count, heads, width, dtype=dtype)


def lact_inputs(batch=2, count=23, heads=2, width=4, hidden=6, dtype=torch.float64):
    weights = [torch.randn(heads, *shape, dtype=dtype) for shape in ((hidden, width), (width, hidden), (hidden, width))]
    lr = 0.1 * torch.rand(batch, count, heads, 3, dtype=dtype)
    return (*tokens(batch, count, heads, width, dtype), weights, lr, torch.rand(batch, count, heads, dtype=dtype))


RULES = {"momentum and Muon": dict(muon=True), "pre-norm": dict(norm="pre"), "elastic": dict(elastic={"pull": 0.1}),
         "only down": dict(written="down"), "two steps": dict(steps=2), "squared error": dict(loss="squared_error")}


class ChunkLact(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_pieces_equal_the_whole_wherever_they_are_cut(self):
        q, k, v, weights, lr, momentum = lact_inputs()
        for name, rule in RULES.items():
            rates = lr[..., 1:2] if rule.get("written") == "down" else lr
            with self.subTest(name):
                def run(begin, end, state=None, final=True):
                    part = [x[:, begin:end] for x in (q, k, v)]
                    return lact_torch.chunk_lact(*part, weights, rates[:, begin:end], momentum[:, begin:end], chunk_size=5,
                                                 initial_state=state, output_final_state=final, **rule)

                whole, none = run(0, 23, final=False)
                self.assertIsNone(none)
                _, last = run(0, 23)
                for cuts in ((0, 1, 23), (0, 5, 23), (0, 7, 8, 20, 23), range(24)):
                    state, outs = None, []
                    for begin, end in zip(cuts, list(cuts)[1:]):
                        out, state = run(begin, end, state)
                        outs.append(out)
                    close(self, torch.cat(outs, 1), whole, 1e-10, f"{name}, cut at {list(cuts)}")
                    self.assertEqual((state.position, len(state.pending)), (23, len(last.pending)))
                    for ours, other in zip(state.memory + state.pending, last.memory + last.pending):
                        close(self, ours, other, 1e-10, name)

    def test_a_rate_of_zero_leaves_the_memory_unchanged(self):
        q, k, v, weights, lr, _ = lact_inputs()
        for momentum in (None, torch.rand(2, 23, 2, dtype=torch.float64)):
            out, state = lact_torch.chunk_lact(q, k, v, weights, torch.zeros_like(lr), momentum, chunk_size=5, norm="none",
                                               output_final_state=True)
            for after, before in zip(state.weights(), weights):
                self.assertTrue(torch.equal(after, before.expand_as(after)))
            gate, down, up = weights
            hidden = F.silu(torch.einsum("hfd,bthd->bthf", gate, q)) * torch.einsum("hfd,bthd->bthf", up, q)
            close(self, out, torch.einsum("hdf,bthf->bthd", down, hidden), 1e-12)

    def test_so_it_does_with_muon_and_norms(self):
        q, k, v, weights, lr, momentum = lact_inputs()
        _, state = lact_torch.chunk_lact(q, k, v, weights, torch.zeros_like(lr), momentum, chunk_size=5, muon=True,
                                         norm_epsilon=0.0, output_final_state=True)
        for after, before in zip(state.weights(), weights):
            close(self, after, before.expand_as(after), 1e-14)

    def test_packed_texts_equal_texts_apart(self):
        q, k, v, weights, lr, momentum = lact_inputs(batch=1)
        ends = [0, 4, 15, 23]
        parts = [[x[:, a:b] for x in (q, k, v, lr, momentum)] for a, b in zip(ends, ends[1:])]

        def run(parts, **how):
            return lact_torch.chunk_lact(*parts[:3], weights, parts[3], parts[4], chunk_size=3, muon=True, **how)

        apart = [run(part, output_final_state=True) for part in parts]
        expected = torch.cat([out for out, _ in apart], 1)
        for given in (ends, torch.tensor(ends)):
            close(self, run([q, k, v, lr, momentum], cu_seqlens=given)[0], expected, 1e-10)
        out, states = run([q, k, v, lr, momentum], cu_seqlens=ends, output_final_state=True)
        close(self, out, expected, 1e-10)
        for state, (_, other) in zip(states, apart):
            for ours, theirs in zip(state.memory, other.memory):
                close(self, ours, theirs, 1e-10)

    def test_gradients_go_through_states(self):
        q, k, v, weights, lr, momentum = lact_inputs(batch=1, count=9)
        weights[0].requires_grad_()
        lr.requires_grad_()

        def run(begin, end, state=None):
            return lact_torch.chunk_lact(q[:, begin:end], k[:, begin:end], v[:, begin:end], weights, lr[:, begin:end],
                                         momentum[:, begin:end], chunk_size=4, muon=True, initial_state=state,
                                         output_final_state=True)

        whole = torch.autograd.grad(run(0, 9)[0].sum(), (weights[0], lr))
        first, state = run(0, 6)
        pieces = torch.autograd.grad(first.sum() + run(6, 9, state)[0].sum(), (weights[0], lr))
        for ours, other in zip(pieces, whole):
            close(self, ours, other, 1e-10)

    def test_orders_and_scale(self):
        q, k, v, weights, lr, _ = lact_inputs()
        full, _ = lact_torch.chunk_lact(q, k, v, weights, lr, order="full")
        block, _ = lact_torch.chunk_lact(q, k, v, weights, lr, order="block_causal", chunk_size=23)
        close(self, full, block, 1e-12)
        scaled, _ = lact_torch.chunk_lact(q, k, v, weights, lr, order="full", scale=0.5)
        close(self, scaled, 0.5 * full, 1e-12)
        with self.assertRaisesRegex(ValueError, "expected shifted, block_causal, full"):
            lact_torch.chunk_lact(q, k, v, weights, lr, order="sideways")

    def test_states_are_float32_for_bfloat16_tokens(self):
        q, k, v, weights, lr, momentum = lact_inputs(dtype=torch.float32)
        exact, _ = lact_torch.chunk_lact(q, k, v, weights, lr, momentum, chunk_size=5)
        out, state = lact_torch.chunk_lact(q.bfloat16(), k.bfloat16(), v.bfloat16(), weights, lr, momentum, chunk_size=5,
                                           output_final_state=True)
        self.assertEqual(out.dtype, torch.bfloat16)
        self.assertEqual({x.dtype for x in state.memory}, {torch.float32})
        close(self, out, exact, 0.05)


def plain_recurrence(q, k, v, step, state):
    """step(state, t) -> state, for [B, T, H, ...]."""
    outs = []
    for t in range(q.shape[1]):
        state = step(state, t)
        outs.append(torch.einsum("bhk,bhkv->bhv", q[:, t], state))
    return torch.stack(outs, 1), state


class Recurrences(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)
        self.q, self.k, self.v = tokens(2, 70, 3, 4)
        self.state = torch.randn(2, 3, 4, 4, dtype=torch.float64)

    def outer(self, t, v=None):
        return torch.einsum("bhk,bhv->bhkv", self.k[:, t], self.v[:, t] if v is None else v)

    def check(self, function, gate, step, shared=False):
        """Against the plain form; then in two pieces; then two sequences packed into one row."""
        q, k = (self.q[:, :, :1], self.k[:, :, :1]) if shared else (self.q, self.k)
        out, last = plain_recurrence(self.q, self.k, self.v, step, self.state)
        found, final = function(q, k, self.v, gate, 1.0, self.state, True)
        close(self, found, out, 1e-10)
        close(self, final, last, 1e-10)
        first, state = function(q[:, :33], k[:, :33], self.v[:, :33], gate[:, :33], 1.0, self.state, True)
        second, none = function(q[:, 33:], k[:, 33:], self.v[:, 33:], gate[:, 33:], 1.0, state)
        self.assertIsNone(none)
        close(self, torch.cat([first, second], 1), out, 1e-10)
        row = [x.reshape(1, 140, *x.shape[2:]) for x in (q, k, self.v, gate)]
        packed, final = function(*row, 1.0, self.state, True, cu_seqlens=[0, 70, 140])
        close(self, packed.view_as(out), out, 1e-10)
        close(self, final, last, 1e-10)
        close(self, function(q, k, self.v, gate)[0], 0.5 * function(q, k, self.v, gate, 1.0)[0], 1e-10)

    def test_gla(self):
        gate = -torch.rand(2, 70, 3, 4, dtype=torch.float64)
        self.check(lact_torch.chunk_gla, gate, lambda s, t: gate[:, t].exp().unsqueeze(-1) * s + self.outer(t))

    def test_delta_rule(self):
        beta = torch.rand(2, 70, 3, dtype=torch.float64)

        def step(state, t):
            known = torch.einsum("bhk,bhkv->bhv", self.k[:, t], state)
            return state + self.outer(t, beta[:, t].unsqueeze(-1) * (self.v[:, t] - known))

        self.check(lact_torch.chunk_delta_rule, beta, step)

    def test_ssd(self):
        gate = -torch.rand(2, 70, 3, dtype=torch.float64)
        step = lambda s, t: gate[:, t].exp()[..., None, None] * s + self.outer(t)
        self.check(lact_torch.chunk_ssd, gate, step)
        self.q, self.k = (x[:, :, :1].expand(-1, -1, 3, -1) for x in (self.q, self.k))
        self.check(lact_torch.chunk_ssd, gate, step, shared=True)

    def test_mamba(self):
        dt, a, d = torch.rand(2, 70, 3).double(), -torch.rand(3).double(), torch.randn(3).double()
        step = lambda s, t: (dt[:, t] * a).exp()[..., None, None] * s + self.outer(t, dt[:, t].unsqueeze(-1) * self.v[:, t])
        out, last = plain_recurrence(self.q, self.k, self.v, step, self.state)
        y, final = lact_torch.mamba_chunk_scan(self.v, dt, a, self.k, self.q, d, self.state.transpose(-2, -1), True)
        close(self, y, out + self.v * d.view(-1, 1), 1e-10)
        close(self, final, last.transpose(-2, -1), 1e-10)


class WindowAttention(unittest.TestCase):
    def test_equals_masked_attention(self):
        q, k, v = tokens(2, 12, 3, 4)
        for width in (1, 5, None):
            scores = torch.einsum("bihd,bjhd->bhij", q, k) * 0.3
            i, j = torch.arange(12)[:, None], torch.arange(12)[None]
            seen = (j <= i) & (j > i - (width or 12))
            expected = torch.einsum("bhij,bjhd->bihd", scores.masked_fill(~seen, -torch.inf).softmax(-1), v)
            close(self, lact_torch.window_attention(q, k, v, width, scale=0.3), expected, 1e-10)
            # The last queries alone.
            piece = lact_torch.window_attention(q[:, 7:], k, v, width, scale=0.3, first_query=7)
            close(self, piece, expected[:, 7:], 1e-10)

    def test_packed_texts_do_not_see_each_other(self):
        q, k, v = tokens(1, 12, 3, 4)
        packed = lact_torch.window_attention(q, k, v, 4, cu_seqlens=[0, 5, 12])
        apart = [lact_torch.window_attention(q[:, a:b], k[:, a:b], v[:, a:b], 4) for a, b in ((0, 5), (5, 12))]
        close(self, packed, torch.cat(apart, 1), 1e-12)
        with self.assertRaisesRegex(ValueError, "cu_seqlens ends at 11"):
            lact_torch.window_attention(q, k, v, 4, cu_seqlens=[0, 5, 11])


class Layers(unittest.TestCase):
    def layer(self, **changes):
        torch.manual_seed(4)
        return lact_torch.LaCTSWIGLULayer(**{**dict(hidden_size=24, num_attn_heads=3, num_lact_heads=2, window_size=6,
                                                    lact_chunk_size=5, use_momentum=True, use_muon=True,
                                                    learnable_ttt_scale=True), **changes}).double()

    def test_pieces_equal_the_whole(self):
        for changes in ({}, dict(w0_w2_low_rank=2, ttt_prenorm=True, window_size=4)):
            layer, x = self.layer(**changes), torch.randn(2, 21, 24).double()
            whole, state, outs = layer(x), None, []
            for begin, end in ((0, 1), (1, 4), (4, 16), (16, 21)):
                out, state = layer.advance(x[:, begin:end], state)
                outs.append(out)
            close(self, torch.cat(outs, 1), whole, 1e-10)
            self.assertEqual(state.keys.shape[1], layer.window_size - 1)

    def test_packed_texts_equal_texts_apart(self):
        layer, x = self.layer(), torch.randn(1, 21, 24).double()
        ends = [0, 8, 9, 21]
        apart = torch.cat([layer(x[:, a:b]) for a, b in zip(ends, ends[1:])], 1)
        close(self, layer(x, cu_seqlens=ends), apart, 1e-10)

    def test_bfloat16_inputs_train_float32_parameters(self):
        layer = self.layer(use_muon=False).float()
        x = torch.randn(2, 21, 24)
        exact, rounded = layer(x), layer(x.bfloat16())
        self.assertEqual(rounded.dtype, torch.bfloat16)
        close(self, rounded, exact, 0.05)
        rounded.float().square().mean().backward()
        self.assertEqual({p.grad.dtype for p in layer.parameters()}, {torch.float32})


if __name__ == "__main__":
    unittest.main()
