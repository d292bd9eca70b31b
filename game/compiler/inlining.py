"""How functions that only kernels call are compiled: into their callers, and nowhere else.

Numba optimizes each function with all that it calls, and makes machine code of it, before it inlines it into
its callers, where the same is done again: a function at the bottom of ten others is optimized ten times.
Here such a function stays as it was translated until the kernel at the top is optimized as a whole.

This uses parts of Numba that are not public. Where a version does not have them (`SUPPORTED`),
functions are compiled in Numba's own way, which takes twice as long.
"""

from typing import Any

from llvmlite import binding, ir
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes, IRLegalization

_METHODS = (
    "_ensure_finalized",
    "_finalize_dynamic_globals",
    "_get_module_for_linking",
    "_raise_if_finalized",
    "serialize_using_object_code",
)
SUPPORTED = "_reload_init" in CodeLibrary.__init__.__code__.co_names and all(
    hasattr(JITCodeLibrary, name) for name in _METHODS
)
"""Whether this version of Numba has what is used here."""


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function and of what it calls, for linking into kernels; there is no machine code."""

    def finalize(self) -> None:
        """Link what the function calls, but optimize nothing."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._final_module.verify()
        self._finalize_dynamic_globals()
        self._variables = self._make_variables()
        self._codegen._add_module(self._variables)
        self._codegen._engine.finalize_object()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> Any:
        """Return what `JITCodeLibrary` reads: its object code is the variables alone."""
        self._ensure_finalized()
        variables = self._codegen._tm.emit_object(self._variables)
        return self.name, "object", (variables, self._get_module_for_linking().as_bitcode())

    def _make_variables(self) -> Any:
        """Return a module with the variables that Numba sets after it has compiled or loaded a function."""
        module = self._codegen._create_empty_module(f"{self.name}.variables")
        for variable in self._final_module.global_variables:
            if variable.linkage == binding.Linkage.common:
                declared = ir.GlobalVariable(module, ir.IntType(8).as_pointer(), variable.name)
                declared.linkage = "common"
                declared.initializer = ir.Constant(declared.value_type, None)
        return binding.parse_assembly(str(module))


class _ColdLibrary(_InnerLibrary):
    """The same for a function that a kernel has once, and calls."""

    def add_ir_module(self, ir_module: ir.Module) -> None:
        """Add the function, never to be inlined."""
        for function in ir_module.functions:
            if not function.is_declaration:
                function.attributes.add("noinline")
        super().add_ir_module(ir_module)


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseInnerLibrary(LoweringPass):  # type: ignore[misc]
    """Chooses the library that the function is then lowered into."""

    _name = "ckai_use_inner_library"
    _library: type[_InnerLibrary] = _InnerLibrary

    def __init__(self) -> None:
        LoweringPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """See Numba's `CompilerPass`."""
        state.library = self._library(state.targetctx.codegen(), state.func_id.func_qualname)
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseColdLibrary(_UseInnerLibrary):
    _name = "ckai_use_cold_library"
    _library = _ColdLibrary


class InnerCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, without the step to machine code."""

    library_pass: type[_UseInnerLibrary] = _UseInnerLibrary

    def define_pipelines(self) -> list[Any]:
        """See Numba's `CompilerBase`."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.library_pass, IRLegalization)
        # Nobody reads the types that Numba would write beside the source.
        passes.passes = [entry for entry in passes.passes if entry[0] is not AnnotateTypes]
        passes.finalize()
        return [passes]


class ColdCompiler(InnerCompiler):
    """The same for functions that are called rather than inlined."""

    library_pass = _UseColdLibrary
