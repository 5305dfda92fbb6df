"""A tool: a function of this package with its schema, annotations and error messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from adabkb_client.errors import AdaBKBError
from adabkb_client.mcp._refusals import malformed, refused


class Exact(BaseModel):
    """Refuses unknown fields, and values of other types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Untitled(GenerateJsonSchema):
    """Generates schemas without titles, which would only repeat the names of fields for the agent."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 (pydantic's)
        """Return False, so that no field has a title."""
        return False


class StudyTool(Tool):
    """A tool that refuses unknown arguments and values of other types, and whose errors name its arguments."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Call the function.

        Raises:
            ToolError: an argument is invalid, or the server refuses or does not answer.
        """
        try:
            given = self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(malformed(error, self.name)) from None
        more = {} if self.context_kwarg is None else {self.context_kwarg: context}
        try:
            result = await self.fn_metadata.call_fn(self.fn, self.is_async, given, more)
        except (AdaBKBError, TypeError, ValueError) as error:
            raise ToolError(refused(error, given)) from None
        return self.fn_metadata.convert_result(result) if convert_result else result


def tool(function: Callable[..., Any], *, changes: bool, is_idempotent: bool) -> StudyTool:
    """Return a tool with the name and the docstring of a function.

    Args:
        function: the function, whose annotations define the schemas of the arguments and of the answer.
        changes: whether the tool changes anything on the server.
        is_idempotent: whether a repetition with the same arguments has no further effect.
    """
    made = StudyTool.from_function(
        function,
        description=inspect.cleandoc(function.__doc__ or ""),
        annotations=ToolAnnotations(
            read_only_hint=not changes,
            destructive_hint=False,
            idempotent_hint=is_idempotent,
            open_world_hint=False,
        ),
        structured_output=True,
    )
    model = made.fn_metadata.arg_model
    strict = create_model(model.__name__, __base__=(Exact, model))
    made.fn_metadata = made.fn_metadata.model_copy(update={"arg_model": strict})
    made.parameters = strict.model_json_schema(by_alias=True, schema_generator=Untitled)
    assert isinstance(made, StudyTool)
    return made
