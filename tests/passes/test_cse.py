from __future__ import annotations

from dlrmc.passes import cse
from tests.passes.pass_case import check_pass, check_unchanged


def test_equal_ops_of_equal_operands_are_one() -> None:
    check_pass(
        cse.run,
        """input %x : f32[2,3]
           weight %w : f32[2,3] = "w"
           weight %again : f32[2,3] = "w"
           const %one : f32[] = 1.0
           const %uno : f32[] = 1.0
           %a = add(%x, %w) : f32[2,3]
           %b = add(%x, %again) : f32[2,3]
           %c = mul(%a, %one) : f32[2,3]
           %d = mul(%b, %uno) : f32[2,3]
           %e = sub(%c, %d) : f32[2,3]
           return %e, %d""",
        """input %x : f32[2,3]
           weight %w : f32[2,3] = "w"
           const %one : f32[] = 1.0
           %a = add(%x, %w) : f32[2,3]
           %c = mul(%a, %one) : f32[2,3]
           %e = sub(%c, %c) : f32[2,3]
           return %e, %c""",
        {"merged": 4},
    )


def test_what_differs_stays() -> None:
    check_unchanged(
        cse.run,
        """input %x : f32[3,3]
           input %y : f32[3,3]
           const %i : i64[] = 1
           const %f : f32[] = 1.0
           const %g : f32[1] = [1.0]
           const %negative : f32[] = -0.0
           const %zero : f32[] = 0.0
           %a = sum(%x) {dims=[0]} : f32[3]
           %b = sum(%x) {dims=[1]} : f32[3]
           %c = sub(%x, %y) : f32[3,3]
           %d = sub(%y, %x) : f32[3,3]
           %e = clamp(%x) {min=0.0} : f32[3,3]
           %h = clamp(%x) {min=-0.0} : f32[3,3]
           return %a, %b, %c, %d, %e, %h, %i, %f, %g, %negative, %zero""",
    )


def test_absent_operands_are_told_apart() -> None:
    check_unchanged(
        cse.run,
        """input %x : f32[3,3]
           input %i : i64[2]
           %a = index(%x, %i) : f32[2,3]
           %b = index(%x, _, %i) : f32[3,2]
           return %a, %b""",
    )


def test_bodies_count() -> None:
    check_pass(
        cse.run,
        """input %x : f32[3]
           weight %w : f32[3] = "w"
           %a = derive(%w) {
             %a = neg(%w) : f32[3]
             yield %a
           } : f32[3]
           %b = derive(%w) {
             %a = neg(%w) : f32[3]
             yield %a
           } : f32[3]
           %c = derive(%w) {
             %a = abs(%w) : f32[3]
             yield %a
           } : f32[3]
           %y = add(%x, %a) : f32[3]
           %z = add(%y, %b) : f32[3]
           %u = add(%z, %c) : f32[3]
           return %u""",
        """input %x : f32[3]
           weight %w : f32[3] = "w"
           %a = derive(%w) {
             %a = neg(%w) : f32[3]
             yield %a
           } : f32[3]
           %c = derive(%w) {
             %a = abs(%w) : f32[3]
             yield %a
           } : f32[3]
           %y = add(%x, %a) : f32[3]
           %z = add(%y, %a) : f32[3]
           %u = add(%z, %c) : f32[3]
           return %u""",
        {"merged": 1},
    )
